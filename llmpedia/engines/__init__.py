"""Where completions and embeddings come from: vLLM under Ray Serve, or an OpenAI-compatible
endpoint (docs/design/overview.md, section 5).
"""
