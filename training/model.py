"""The cross-encoder: the lowest layers of multilingual-e5-small and a small head.

Input is `<s> question </s></s> passage </s>` with one learned vector per side added above the frozen layers. The head reads the first
token, the mean of the passage, the product of the two means, their cosine and a MaxSim of question tokens on passage tokens: e5's own
matching signal, so training starts from something. Word vectors are e5's and stay frozen: the product has them already.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from onebrain.models.e5_source import E5Source

WIDTH, HEADS, INNER, POSITIONS, EPSILON = 384, 12, 1536, 512, 1e-12
QUESTION_ROWS = 44  # <s>, at most 40 tokens of question, </s></s>
DOT_SCALE = 4.0  # brings cosine and MaxSim to the size of the other features


class Layer(nn.Module):
    """One transformer layer, written out because the fused CPU attention is slow backwards at this size."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.ao = nn.Linear(WIDTH, WIDTH)
        self.n1 = nn.LayerNorm(WIDTH, EPSILON)
        self.fi = nn.Linear(WIDTH, INNER)
        self.fo = nn.Linear(INNER, WIDTH)
        self.n2 = nn.LayerNorm(WIDTH, EPSILON)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, size, _ = x.shape
        query, key, value = self.qkv(x).view(batch, size, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(torch.matmul(query * (WIDTH // HEADS) ** -0.5, key.transpose(2, 3)) + mask, -1)
        mixed = torch.matmul(weights, value).transpose(1, 2).reshape(batch, size, WIDTH)
        x = self.n1(x + self.ao(mixed))
        return self.n2(x + self.fo(F.gelu(self.fi(x))))


class CrossEncoder(nn.Module):
    """Logit that a passage answers a question; takes word vectors (b, s, 384), the mask and the side of each token (1 = passage).

    The first `frozen` layers stay e5's own and need no backward pass; the side vectors come in after them. The head is float32 whatever
    the layers are (`in_bfloat16`).
    """

    def __init__(self, layers: int, frozen: int = 0) -> None:
        super().__init__()
        self.register_buffer("frozen", torch.tensor(frozen))
        self.pos = nn.Parameter(torch.zeros(POSITIONS, WIDTH))
        self.ln = nn.LayerNorm(WIDTH, EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.seg = nn.Parameter(torch.zeros(2, WIDTH))
        self.h1 = nn.Linear(3 * WIDTH + 2, WIDTH)
        self.h2 = nn.Linear(WIDTH, 1)
        for part in (self.ln, *self.layers[:frozen]):
            part.requires_grad_(False)
        self.pos.requires_grad_(False)

    def forward(self, words: Tensor, mask: Tensor, side: Tensor) -> Tensor:
        kind = self.pos.dtype
        bias = ((mask - 1).float()[:, None, None, :] * 1e4).to(kind)
        frozen = int(self.frozen)
        with torch.no_grad():
            x = self.ln(words.to(kind) + self.pos[: words.shape[1]])
            for layer in self.layers[:frozen]:
                x = layer(x, bias)
        x = x + self.seg[side]
        for layer in self.layers[frozen:]:
            x = layer(x, bias)
        return self._head(x.float(), mask.float(), side.float())

    def in_bfloat16(self) -> "CrossEncoder":
        self.to(torch.bfloat16)
        self.h1.float()
        self.h2.float()
        return self

    def _head(self, x: Tensor, mask: Tensor, side: Tensor) -> Tensor:
        ours = (mask * (1 - side))[:, :QUESTION_ROWS]
        theirs = mask * side
        passage = (x * theirs[..., None]).sum(1) / theirs.sum(1, keepdim=True).clamp(min=1)
        question = (x[:, :QUESTION_ROWS] * ours[..., None]).sum(1) / ours.sum(1, keepdim=True)
        a, b = F.normalize(passage, dim=1), F.normalize(question, dim=1)
        tokens = F.normalize(x, dim=2)
        similar = torch.matmul(tokens[:, :QUESTION_ROWS], tokens.transpose(1, 2)) + (theirs[:, None, :] - 1) * 9
        maxsim = (similar.max(2).values * ours).sum(1, keepdim=True) / ours.sum(1, keepdim=True)
        cosine = (a * b).sum(1, keepdim=True)
        features = torch.cat([x[:, 0], passage, a * b * WIDTH**0.5, cosine * DOT_SCALE, maxsim * DOT_SCALE], 1)
        return self.h2(F.gelu(self.h1(features))).squeeze(1)


def from_e5(source: E5Source, layers: int, frozen: int) -> CrossEncoder:
    """A cross-encoder whose encoder is e5's lowest `layers` layers; the head starts at random."""
    model = CrossEncoder(layers, frozen)
    with torch.no_grad():
        model.pos.copy_(_floats(source, "emb.pos", POSITIONS, WIDTH) + _floats(source, "emb.type", WIDTH))
        _norm(model.ln, source, "emb.ln")
        for number, layer in enumerate(model.layers):
            assert isinstance(layer, Layer)
            name = f"l{number}."
            layer.qkv.weight.copy_(torch.cat([_matrix(source, f"{name}{part}.w", WIDTH, WIDTH) for part in "qkv"]))
            layer.qkv.bias.copy_(torch.cat([_floats(source, f"{name}{part}.b", WIDTH) for part in "qkv"]))
            for linear, part, rows, columns in (
                (layer.ao, "ao", WIDTH, WIDTH),
                (layer.fi, "fi", INNER, WIDTH),
                (layer.fo, "fo", WIDTH, INNER),
            ):
                linear.weight.copy_(_matrix(source, f"{name}{part}.w", rows, columns))
                linear.bias.copy_(_floats(source, f"{name}{part}.b", rows))
            _norm(layer.n1, source, f"{name}aln")
            _norm(layer.n2, source, f"{name}oln")
    return model


def _matrix(source: E5Source, name: str, rows: int, columns: int) -> Tensor:
    return torch.from_numpy(source.matrix(name, rows, columns))


def _floats(source: E5Source, name: str, *shape: int) -> Tensor:
    return torch.from_numpy(source.floats(name, *shape).copy())


def _norm(norm: nn.LayerNorm, source: E5Source, name: str) -> None:
    norm.weight.copy_(_floats(source, f"{name}.w", WIDTH))
    norm.bias.copy_(_floats(source, f"{name}.b", WIDTH))
