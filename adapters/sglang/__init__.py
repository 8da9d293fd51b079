"""SGLang's own OpenAI server on CUDA. Written from its released sources; nobody has run it with this adapter."""
