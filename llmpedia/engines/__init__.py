"""Where completions and embeddings come from: vLLM under Ray Serve, or an OpenAI-compatible
endpoint (DESIGN section 5).
"""
