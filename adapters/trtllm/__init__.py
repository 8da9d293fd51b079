"""TensorRT-LLM's `trtllm-serve` on CUDA. Written from its public sources; nobody has run it with this adapter."""
