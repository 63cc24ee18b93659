"""From a file to text: prefill, then token by token."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from xir.files import weights_path
from xir.llm.errors import LlmError
from xir.llm.metadata import DECODE, PREFILL, Metadata, read_metadata
from xir.llm.sampling import Logits, Sampler, Sampling
from xir.llm.tokenizer import Message, TextStream, Tokenizer
from xir.runtime import Program, Runtime, XirMissingDataError, XirRuntimeError

Prompt = str | Sequence[int] | Sequence[Message]
"""A text, tokens, or a conversation, which the model's chat template turns into a text."""

Reason = Literal["", "stop", "length"]


@dataclass(frozen=True)
class Speed:
    """The speed of a phase."""

    tokens: int
    seconds: float

    def __str__(self) -> str:
        rate = f"{self.tokens / self.seconds:.1f}" if self.seconds else "-"
        return f"{self.tokens} tokens in {self.seconds:.2f} s, {rate} tokens/s"


@dataclass
class Generation:
    """An answer, during and after its generation."""

    text: str = ""
    tokens: list[int] = field(default_factory=list[int])
    """The tokens generated, without the one that ended the answer."""
    prompt: list[int] = field(default_factory=list[int])
    """The tokens of the prompt."""
    reason: Reason = ""
    """Why it ended: "stop" at an end token or a text of `stop`, "length" at the limit of tokens; empty until then."""
    prefill: Speed = Speed(0, 0.0)
    """The prompt, up to the first token of the answer."""
    decode: Speed = Speed(0, 0.0)
    """The tokens after the first one."""


class LanguageModel:
    """A loaded model. Several threads can generate at once: each generation has its own caches."""

    def __init__(self, path: str | os.PathLike[str], tokenizer: Tokenizer | None, threads: int | None, **limits: Any):
        """LlmError for a file that is not a language model's, or a tokenizer of another model.

        `limits` are further options of `load_program`.
        """
        name = os.fspath(path)
        try:
            self._program = _load_program(path, {"threads": threads, **limits})
            self.metadata: Metadata = read_metadata(self._program, name)
            """The properties of the model."""
            self._decoders = [Decoder(self._program, self.metadata)]
        except XirRuntimeError as error:
            raise LlmError(f"{name}: {error}") from error
        self.tokenizer: Tokenizer | None = tokenizer
        self._lock = threading.Lock()

    def generate(
        self,
        prompt: Prompt,
        sampling: Sampling | None = None,
        *,
        max_new_tokens: int | None = None,
        stop: Sequence[str] = (),
    ) -> Generation:
        """Answer a prompt. The arguments are those of `stream`."""
        pieces = self.stream(prompt, sampling, max_new_tokens=max_new_tokens, stop=stop)
        for _ in pieces:
            pass
        return pieces.generation

    def stream(
        self,
        prompt: Prompt,
        sampling: Sampling | None = None,
        *,
        max_new_tokens: int | None = None,
        stop: Sequence[str] = (),
    ) -> GenerationStream:
        """Answer a prompt piece by piece, as tokens are generated.

        The answer ends at the model's end token, before the first of the texts `stop`, after `max_new_tokens`, or when
        the caches are full. Raises LlmError for a prompt that is empty, does not fit, or needs a missing tokenizer.
        """
        tokens = self.tokens_of(prompt)
        room = self.metadata.max_context_len - len(tokens)
        if not tokens:
            raise LlmError("the prompt is empty: at least one token is needed to begin with")
        if room <= 0:
            raise LlmError(
                f"the prompt has {len(tokens)} tokens, and the file's caches hold {self.metadata.max_context_len}, the "
                "answer included: shorten it, or export with a larger --max-seq-len"
            )
        if max_new_tokens is not None and max_new_tokens < 1:
            raise LlmError(f"max-new-tokens must be 1 or more, not {max_new_tokens}")
        if stop and self.tokenizer is None:
            raise LlmError("texts to stop at need a tokenizer")
        count = room if max_new_tokens is None else min(room, max_new_tokens)
        text = _Text(None if self.tokenizer is None else self.tokenizer.text_stream(), tuple(filter(None, stop)))
        return GenerationStream(self, Generation(prompt=tokens), Sampler(sampling or Sampling()), count, text)

    def tokens_of(self, prompt: Prompt) -> list[int]:
        """The tokens of a prompt. LlmError if they need a tokenizer and there is none, or it is another model's."""
        tokens = self._tokens(prompt)
        if (wrong := next((token for token in tokens if not 0 <= token < self.metadata.vocab_size), None)) is not None:
            raise LlmError(
                f"token {wrong} is outside of the vocabulary of {self.metadata.vocab_size}: this is the tokenizer of "
                "another model"
            )
        return tokens

    def _tokens(self, prompt: Prompt) -> list[int]:
        if not isinstance(prompt, str) and all(isinstance(each, int | np.integer) for each in prompt):
            return [int(each) for each in prompt if isinstance(each, int | np.integer)]
        if self.tokenizer is None:
            raise LlmError("a text needs a tokenizer: give its tokenizer.json, or the tokens themselves")
        if isinstance(prompt, str):
            return self.tokenizer.encode(prompt)
        return self.tokenizer.chat([each for each in prompt if isinstance(each, dict)])

    @contextmanager
    def decoder(self) -> Generator[Decoder]:
        """The two methods, with caches that no other caller uses meanwhile."""
        decoder = self._take()
        try:
            yield decoder
        finally:
            with self._lock:
                self._decoders.append(decoder)

    def _take(self) -> Decoder:
        with self._lock:
            if self._decoders:
                return self._decoders.pop()
        return Decoder(self._program, self.metadata)


class GenerationStream(Iterator[str]):
    """Pieces of an answer. A piece is empty where a token completes no character, or there is no tokenizer."""

    def __init__(self, model: LanguageModel, generation: Generation, sampler: Sampler, count: int, text: _Text):
        self.generation: Generation = generation
        """The answer so far."""
        self._pieces = self._run(model, sampler, count, text)

    def __next__(self) -> str:
        return next(self._pieces)

    def close(self) -> None:
        """Stop here."""
        self._pieces.close()

    def _run(self, model: LanguageModel, sampler: Sampler, count: int, text: _Text) -> Generator[str]:
        with model.decoder() as decoder:
            yield from self._answer(model, decoder, sampler, count, text)

    def _answer(
        self, model: LanguageModel, decoder: Decoder, sampler: Sampler, count: int, text: _Text
    ) -> Generator[str]:
        found = self.generation
        try:
            start = time.perf_counter()
            token = sampler(decoder.prefill(found.prompt))
            found.prefill = Speed(len(found.prompt), time.perf_counter() - start)
            while token not in model.metadata.eos_ids:
                found.tokens.append(token)
                piece = text.add(token)
                if text.stopped:
                    found.reason = "stop"
                elif len(found.tokens) == count:
                    found.reason = "length"
                    piece += text.rest()
                found.text += piece
                yield piece
                if found.reason:
                    return
                start = time.perf_counter()
                token = sampler(decoder.decode(token, len(found.prompt) + len(found.tokens) - 1))
                found.decode = Speed(len(found.tokens), found.decode.seconds + time.perf_counter() - start)
            found.reason = "stop"
            rest = text.rest()
            found.text += rest
            yield rest
        except XirRuntimeError as error:
            raise LlmError(str(error)) from error


class Decoder:
    """The two methods, on caches of their own."""

    def __init__(self, program: Any, metadata: Metadata):
        self._state = program.new_state()
        self._prefill = program.load_method(PREFILL, state=self._state)
        self._decode = program.load_method(DECODE, state=self._state)
        self._chunk = metadata.max_seq_len

    def prefill(self, tokens: Sequence[int]) -> Logits:
        """Begin anew with a prompt, which is split where it is longer than the method takes."""
        self._state.reset()
        logits: Logits | None = None
        for begin in range(0, len(tokens), self._chunk):
            part = tokens[begin : begin + self._chunk]
            method = self._prefill if len(part) > 1 else self._decode
            logits = _run(method, part, begin)
        assert logits is not None
        return logits

    def decode(self, token: int, position: int) -> Logits:
        """Go on with a token, behind as many as its position says."""
        return _run(self._decode, [token], position)


def _run(method: Any, tokens: Sequence[int], position: int) -> Logits:
    positions = np.arange(position, position + len(tokens), dtype=np.int64)
    (logits,) = method.execute([np.array([tokens], dtype=np.int64), positions])
    return logits[0, -1]


class _Text:
    """The text of an answer, up to the first text that ends it.

    What may be the beginning of such a text is held back.
    """

    def __init__(self, stream: TextStream | None, stop: tuple[str, ...]):
        self._stream = stream
        self._stop = stop
        self._held = ""
        self.stopped = False

    def add(self, token: int) -> str:
        if self._stream is None:
            return ""
        self._held += self._stream.add(token)
        ends = [at for at in (self._held.find(text) for text in self._stop) if at >= 0]
        if ends:
            self.stopped = True
            return self._take(min(ends))
        return self._take(len(self._held) - self._begun())

    def rest(self) -> str:
        """What was held back for texts that did not come."""
        return self._take(len(self._held))

    def _begun(self) -> int:
        """How many characters at the end may be the beginning of a text that ends the answer."""
        longest = max((len(text) for text in self._stop), default=1) - 1
        for count in range(min(longest, len(self._held)), 0, -1):
            if any(text.startswith(self._held[-count:]) for text in self._stop):
                return count
        return 0

    def _take(self, count: int) -> str:
        piece, self._held = self._held[:count], self._held[count:]
        return piece


def _load_program(path: str | os.PathLike[str], how: dict[str, Any]) -> Program:
    """The program, with the `.ptd` beside it where its weights are apart; LlmError if that is missing.

    A `.ptd` is not looked at before the program asks for one: what is left of an earlier export has the same keys.
    """
    try:
        return Runtime.get().load_program(path, **how)
    except XirMissingDataError as error:
        weights = weights_path(path)
        if not weights.is_file():
            raise LlmError(f"{os.fspath(path)}: its weights are apart, and there is no '{weights}'") from error
        return Runtime.get().load_program(path, data=[weights], **how)


def load(
    path: str | os.PathLike[str],
    *,
    tokenizer: Tokenizer | str | os.PathLike[str] | None = None,
    threads: int | None = None,
    max_seconds: float | None = None,
    allow_ops: Sequence[str] = (),
) -> LanguageModel:
    """Load a file from `xir-llm export`, with the `.ptd` file next to it if the weights are there.

    `tokenizer` is the model's folder or its `tokenizer.json`; by default `tokenizer.json` next to the file, if it
    exists. Without a tokenizer, prompts and answers are tokens. `threads` is the number of threads, by default one for
    each core. `max_seconds` limits each execution, which is a part of the prompt or one token of the answer, and
    `allow_ops` are further operators that the file may call in torch; both are as in `Runtime.load_program`. Raises
    LlmError for a file that is not a language model or a tokenizer.
    """
    if tokenizer is None:
        beside = Path(path).with_name("tokenizer.json")
        tokenizer = beside if beside.is_file() else None
    if isinstance(tokenizer, str | os.PathLike):
        tokenizer = Tokenizer(tokenizer)
    return LanguageModel(path, tokenizer, threads, max_seconds=max_seconds, allow_ops=allow_ops)
