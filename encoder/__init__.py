"""From LaTeX to unit vectors: canonical tokens, the vocabulary over them, and the ONNX session.

Owns everything that knows LaTeX; knows nothing of collections, indexes or services.
"""
