"""The networks of networks.h in PyTorch, for models.py."""
import torch
from torch import nn

NAMES = ("gan", "video", "lm", "attention", "tcn", "unet")


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(10000, 512), nn.Linear(512, 10000)
        self.layers = nn.LSTM(512, 512, 2, batch_first=True)

    def forward(self, text):
        return self.head(self.layers(self.words(text))[0])


class AttentionBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(256), nn.LayerNorm(256)
        self.qkv, self.out = nn.Linear(256, 768), nn.Linear(256, 256)
        self.up, self.down = nn.Linear(256, 1024), nn.Linear(1024, 256)

    def forward(self, x, mask):
        n, t, _ = x.shape
        q, k, v = self.qkv(self.first(x)).reshape(n, t, 3, 8, 32).permute(2, 0, 3, 1, 4).unbind(0)
        scores = torch.matmul(q, k.transpose(-2, -1)) / 32 ** 0.5
        weights = torch.softmax(scores.masked_fill(mask, -1e9), -1)
        y = x + self.out(torch.matmul(weights, v).transpose(1, 2).reshape(n, t, 256))
        return y + self.down(torch.relu(self.up(self.second(y))))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.head = nn.Embedding(1000, 256), nn.Embedding(128, 256), nn.Linear(256, 1000)
        self.blocks = nn.ModuleList(AttentionBlock() for _ in range(4))

    def forward(self, text):
        t = text.shape[1]
        mask = torch.ones(t, t, dtype=torch.bool).triu(1)
        x = self.words(text) + self.places(torch.arange(t))
        for block in self.blocks:
            x = block(x, mask)
        return self.head(x)


class Gated(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.filter = nn.Conv1d(channels, channels, 3, padding=dilation, dilation=dilation)
        self.gate = nn.Conv1d(channels, channels, 3, padding=dilation, dilation=dilation)
        self.mix = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        return x + self.mix(torch.tanh(self.filter(x)) * torch.sigmoid(self.gate(x)))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()

        def twice(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(),
                                 nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())

        sizes = (3, 32, 64, 128, 256)
        self.down = nn.ModuleList(twice(i, o) for i, o in zip(sizes, sizes[1:]))
        self.wider = nn.ModuleList(nn.ConvTranspose2d(2 * o, o, 2, 2) for o in (128, 64, 32))
        self.up = nn.ModuleList(twice(2 * o, o) for o in (128, 64, 32))
        self.head = nn.Conv2d(32, 4, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(nn.functional.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for i, block in enumerate(self.up):
            x = block(torch.cat([kept[-2 - i], self.wider[i](x)], 1))
        return self.head(x)


def gan():
    def up(i, o, stride, padding):
        return nn.ConvTranspose2d(i, o, 4, stride, padding, bias=False)

    def down(i, o):
        return nn.Conv2d(i, o, 4, 2, 1, bias=False)

    leaky = nn.LeakyReLU(0.2)
    return nn.Sequential(
        up(100, 256, 1, 0), nn.BatchNorm2d(256), nn.ReLU(), up(256, 128, 2, 1), nn.BatchNorm2d(128), nn.ReLU(),
        up(128, 64, 2, 1), nn.BatchNorm2d(64), nn.ReLU(), up(64, 3, 2, 1), nn.Tanh(),
        down(3, 64), leaky, down(64, 128), nn.BatchNorm2d(128), leaky, down(128, 256), nn.BatchNorm2d(256), leaky,
        nn.Flatten(), nn.Linear(4096, 2))


def video():
    layers, i = [], 3
    for o in (32, 64, 128):
        layers += [nn.Conv3d(i, o, 3, padding=1, bias=False), nn.BatchNorm3d(o), nn.ReLU(), nn.MaxPool3d((1, 2, 2))]
        i = o
    return nn.Sequential(*layers, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(i, 10))


def tcn():
    return nn.Sequential(nn.Conv1d(1, 64, 1), *(Gated(64, d) for d in (1, 2, 4, 8)), nn.Conv1d(64, 128, 1),
                         *(Gated(128, d) for d in (16, 32, 64, 128)), nn.Conv1d(128, 16, 1))


def make(name, batch):
    """The model, its input, the target of cross entropy, and whether Adam trains it."""
    def text(model, words, length):
        x = torch.randint(words, (batch, length))
        return model, x, x.roll(-1, 1), True

    if name == "gan":
        return gan(), torch.randn(batch, 100, 1, 1), torch.randint(2, (batch,)), True
    if name == "video":
        return video(), torch.randn(batch, 3, 8, 56, 56), torch.randint(10, (batch,)), False
    if name == "lm":
        return text(LanguageModel(), 10000, 32)
    if name == "attention":
        return text(Attention(), 1000, 128)
    if name == "tcn":
        return tcn(), torch.randn(batch, 1, 2048), torch.randint(16, (batch, 2048)), True
    return UNet(), torch.randn(batch, 3, 128, 128), torch.randint(4, (batch, 128, 128)), False
