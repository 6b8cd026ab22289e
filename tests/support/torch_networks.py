# SPDX-License-Identifier: Apache-2.0
"""Small networks of torchvision, timm and transformers, each with inputs to try it on."""


def image(size=64, channels=3):
    import torch

    return (torch.rand(2, channels, size, size),)


def tokens(length=12, words=99):
    import torch

    return (torch.randint(0, words, (2, length)),)


def u_net():
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inner, outer):
            super().__init__()
            self.down = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(outer, 2 * outer, 3, padding=1),
                                      nn.GroupNorm(4, 2 * outer), nn.SiLU())
            self.inner = inner
            self.up = nn.ConvTranspose2d(2 * outer, outer, 2, stride=2)
            self.join = nn.Sequential(nn.Conv2d(2 * outer, outer, 3, padding=1), nn.ReLU())

        def forward(self, x):
            import torch

            return self.join(torch.cat([x, self.up(self.inner(self.down(x)))], 1))

    layers = Block(Block(nn.Identity(), 16), 8)
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), layers, nn.Conv2d(8, 2, 1)), image(32)


def recurrent(kind):
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.recurrent = getattr(nn, kind)(12, 16, 2, bidirectional=True, batch_first=True)
            self.head = nn.Linear(32, 5)

        def forward(self, x):
            return self.head(self.recurrent(x)[0])

    return Tagger(), (torch.randn(3, 9, 12),)


def mobile_net():
    import torchvision

    return torchvision.models.mobilenet_v3_small(num_classes=10), image()


def efficient_net():
    import timm

    return timm.create_model("efficientnet_lite0", num_classes=10), image()


def standardised_res_net():
    """Standardised weights, normalizations of groups."""
    from functools import partial

    from timm.layers import GroupNormAct, StdConv2d
    from timm.models.resnetv2 import ResNetV2

    return ResNetV2(layers=(1, 2), channels=(32, 64), num_classes=10, stem_chs=32, stem_type="fixed",
                    conv_layer=partial(StdConv2d, eps=1e-8),
                    norm_layer=partial(GroupNormAct, num_groups=8)), image()


def norm_free_net(**settings):
    """Standardised weights and no normalization: grouped convolutions, gates of channels."""
    from timm.models.nfnet import NfCfg, NormFreeNet

    config = NfCfg(depths=(1, 2), channels=(32, 64), stem_chs=16, group_size=8, width_factor=1.0,
                   act_layer="silu", attn_kwargs={}, **settings)
    return NormFreeNet(config, num_classes=10), image()


def style_net():
    """Normalizations of instances, with parameters and without."""
    from torch import nn

    def block(inner, outer, stride, affine):
        return nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(inner, outer, 3, stride),
                             nn.InstanceNorm2d(outer, affine=affine),
                             nn.GroupNorm(4, outer, affine=not affine), nn.SiLU())

    return nn.Sequential(block(3, 16, 1, True), block(16, 32, 2, False), block(32, 32, 1, True),
                         nn.Upsample(scale_factor=2), nn.Conv2d(32, 3, 3, padding=1)), image(32)


def conv_next():
    from timm.models.convnext import ConvNeXt

    return ConvNeXt(depths=(1, 1, 2, 1), dims=(16, 24, 32, 48), num_classes=10), image()


def swin():
    from timm.models.swin_transformer import SwinTransformer

    return SwinTransformer(64, 4, embed_dim=24, depths=(2, 2), num_heads=(2, 4), window_size=4,
                           num_classes=10), image()


def mixer():
    from timm.models.mlp_mixer import MlpMixer

    return MlpMixer(img_size=64, patch_size=16, num_blocks=2, embed_dim=32, num_classes=10), image()


def vision_transformer():
    from timm.models.vision_transformer import VisionTransformer

    return VisionTransformer(64, 16, embed_dim=48, depth=2, num_heads=4, num_classes=10), image()


def distil_bert():
    import transformers

    config = transformers.DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4,
                                           hidden_dim=64, max_position_embeddings=32)
    return transformers.DistilBertForSequenceClassification(config), tokens()


def gpt2():
    import transformers

    config = transformers.GPT2Config(vocab_size=99, n_positions=32, n_embd=32, n_layer=2, n_head=4,
                                     use_cache=False)
    return transformers.GPT2LMHeadModel(config), tokens()


def llama():
    import transformers

    config = transformers.LlamaConfig(vocab_size=99, hidden_size=32, intermediate_size=64,
                                      num_hidden_layers=2, num_attention_heads=4,
                                      num_key_value_heads=2, use_cache=False)
    return transformers.LlamaForCausalLM(config), tokens()


def t5():
    import torch
    import transformers

    config = transformers.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2,
                                   num_heads=4, use_cache=False, decoder_start_token_id=0)
    encoder = tokens()[0]
    return transformers.T5ForConditionalGeneration(config), (
        encoder, torch.ones_like(encoder), tokens(7)[0])
