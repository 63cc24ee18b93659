"""Text to tokens and back, by Hugging Face's `tokenizers`, and the template that makes a prompt of a conversation."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from xir.llm.errors import LlmError, required
from xir.llm.gguf.reader import GgufFile
from xir.llm.gguf.tokenizer import read_tokenizer

if TYPE_CHECKING:
    from tokenizers.decoders import DecodeStream


class Message(TypedDict):
    """A message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Tokenizer:
    """A model's tokenizer: its `tokenizer.json` and the chat template of its folder, or those of a GGUF file."""

    def __init__(self, source: str | os.PathLike[str]):
        """Read a folder with a `tokenizer.json`, such a file, or a GGUF file. LlmError if there is none, or it is
        damaged."""
        path = Path(source)
        if path.suffix == ".gguf":
            self._tokenizer, self._config = read_tokenizer(GgufFile(path))
            self._template = _template(None, self._config)
            return
        file = path / "tokenizer.json" if path.is_dir() else path
        if not file.is_file():
            raise LlmError(f"{file}: there is no such file; a tokenizer is a tokenizer.json or the folder with one")
        library: Any = required("tokenizers")
        try:
            self._tokenizer = library.Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises Exception itself
            raise LlmError(f"{file}: {error}") from error
        self._config = _json(file.parent / "tokenizer_config.json")
        self._template = _template(file.parent, self._config)

    @property
    def vocab_size(self) -> int:
        """How many tokens there are, added ones included."""
        return self._tokenizer.get_vocab_size(with_added_tokens=True)

    @property
    def has_chat_template(self) -> bool:
        """Whether `chat` knows how the model wants conversations."""
        return self._template is not None

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        """The tokens of a text; with `special`, also those that the model wants around each text."""
        return self._tokenizer.encode(text, add_special_tokens=special).ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        return self._tokenizer.decode(list(tokens), skip_special_tokens=True)

    def chat(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of a conversation up to where the model is to answer. LlmError if its template refuses."""
        if self._template is None:
            raise LlmError("the tokenizer has no chat template: give the model plain text")
        jinja: Any = required("jinja2")
        sandbox: Any = required("jinja2.sandbox")

        def refuse(message: str) -> None:
            raise jinja.TemplateError(message)

        def now(form: str) -> str:
            return datetime.datetime.now().strftime(form)

        # What templates rely on, as transformers' documentation of chat templates lists it.
        environment = sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = lambda value, **options: json.dumps(value, ensure_ascii=False, **options)
        environment.globals |= {"raise_exception": refuse, "strftime_now": now}
        special = {
            name: _token(self._config.get(name)) for name in ("bos_token", "eos_token", "unk_token", "pad_token")
        }
        values = {name: token for name, token in special.items() if token is not None}
        try:
            text = environment.from_string(self._template).render(
                messages=list(messages), add_generation_prompt=True, **values
            )
        except jinja.TemplateError as error:
            raise LlmError(f"the chat template fails: {error}") from error
        # The template writes special tokens itself.
        return self.encode(text, special=False)

    def text_stream(self) -> TextStream:
        """A stream that converts tokens to text one by one."""
        return TextStream(self._tokenizer)


class TextStream:
    """Converts tokens to text one by one. Characters of several tokens are held back until they are complete."""

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer
        decoders: Any = required("tokenizers.decoders")
        self._stream: DecodeStream = decoders.DecodeStream(skip_special_tokens=True)

    def add(self, token: int) -> str:
        """Add a token, and return the text that is now complete: often a word, sometimes nothing."""
        return self._stream.step(self._tokenizer, token) or ""


def _json(path: Path) -> dict[str, Any]:
    """An object of a JSON file, empty where there is no file. LlmError if it is damaged."""
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LlmError(f"{path}: {error}") from error
    if not isinstance(value, dict):
        raise LlmError(f"{path}: a JSON object is expected")
    return value


def _template(folder: Path | None, config: dict[str, Any]) -> str | None:
    """The template of conversations: a file of its own, or in the configuration, one or several by name."""
    file = None if folder is None else folder / "chat_template.jinja"
    if file is not None and file.is_file():
        return file.read_text(encoding="utf-8")
    found = config.get("chat_template")
    if isinstance(found, list):
        found = next((each.get("template") for each in found if each.get("name") == "default"), None)
    return found if isinstance(found, str) else None


def _token(value: Any) -> str | None:
    """A special token's text: configurations have it as it is, or in an object."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else None
