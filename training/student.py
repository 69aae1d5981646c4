"""The student as a torch module; ``weights.graph`` builds the same computation in ONNX.

A formula is read twice. A small transformer reads its tokens, each with its renamed counterpart (``encoder.ngrams``)
and its place. Beside it, hashed n-grams of both streams look up rows of one table, whose scaled sum costs next to
nothing and carries the lexical evidence. Both meet in one hidden layer and a projection to the index's dimension.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from encoder.ngrams import PLACES


@dataclass(frozen=True)
class Size:
    """Vocabulary, layers, width, heads, feed-forward width, n-gram rows, output dimensions, longest input."""

    vocabulary: int
    layers: int = 2
    width: int = 128
    heads: int = 4
    ffn: int = 256
    rows: int = 16384
    hidden: int = 256
    dim: int = 64
    positions: int = 128


class Layer(nn.Module):
    """A post-norm transformer layer with a fused query-key-value product and ReLU."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.qkv = nn.Linear(size.width, 3 * size.width)
        self.out = nn.Linear(size.width, size.width)
        self.up = nn.Linear(size.width, size.ffn)
        self.down = nn.Linear(size.ffn, size.width)
        self.norm1 = nn.LayerNorm(size.width)
        self.norm2 = nn.LayerNorm(size.width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """X float (B, T, width), mask bool (B, 1, 1, T) of real tokens."""
        b, t, w = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.norm1(x + self.out(mixed.transpose(1, 2).reshape(b, t, w)))
        return self.norm2(x + self.down(torch.relu(self.up(x))))


class Student(nn.Module):
    """See the module's docstring."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.size = size
        self.tokens = nn.Embedding(size.vocabulary, size.width)
        self.renamed = nn.Embedding(size.vocabulary + PLACES, size.width)
        self.places = nn.Embedding(size.positions, size.width)
        self.embed = nn.LayerNorm(size.width)
        self.layers = nn.ModuleList(Layer(size) for _ in range(size.layers))
        self.grams = nn.EmbeddingBag(size.rows, size.width, mode="sum")
        self.gram_norm = nn.LayerNorm(size.width)
        self.hidden = nn.Linear(2 * size.width, size.hidden)
        self.project = nn.Linear(2 * size.width + size.hidden, size.dim)
        for table, scale in ((self.tokens, 0.05), (self.renamed, 0.05), (self.places, 0.02), (self.grams, 0.05)):
            nn.init.normal_(table.weight, std=scale)

    def forward(self, ids: torch.Tensor, renamed: torch.Tensor, lengths: torch.Tensor, rows: torch.Tensor,
                offsets: torch.Tensor) -> torch.Tensor:  # fmt: skip
        """Unit vectors of a padded batch.

        Args:
            ids: int64 (B, T), padded with anything.
            renamed: int64 (B, T).
            lengths: int64 (B,).
            rows: int64 (R,) n-gram rows of all formulas, in [0, size.rows).
            offsets: int64 (B,) where each formula's rows start.

        Returns:
            float32 (B, dim).
        """
        places = torch.arange(ids.shape[1])
        real = places[None, :] < lengths[:, None]
        x = self.embed(self.tokens(ids) + self.renamed(renamed) + self.places(places))
        for layer in self.layers:
            x = layer(x, real[:, None, None, :])
        pooled = (x * real[:, :, None]).sum(1) / lengths[:, None]
        joined = torch.cat([pooled, self.gram_norm(self.grams(rows, offsets))], dim=1)
        return nn.functional.normalize(self.project(torch.cat([joined, torch.relu(self.hidden(joined))], dim=1)), dim=1)
