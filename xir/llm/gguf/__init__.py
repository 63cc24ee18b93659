"""GGUF, the file format of llama.cpp's models, as a source of weights and tokenizers. Torch is not needed."""
