"""What reads models of transformers: this package imports torch and transformers."""
