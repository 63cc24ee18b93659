"""Facts about programs that passes of several levels ask for; nothing here changes the IR."""
