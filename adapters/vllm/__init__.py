"""vLLM: its own OpenAI server in a process tree, or Ray Serve's LLM replica; on CUDA, or on the CPU build."""
