# SPDX-License-Identifier: Apache-2.0
"""Writes tokenizer_traces.json: small vocabularies that Hugging Face's tokenizers make of some
sentences, and what transformers' BertTokenizerFast and GPT2TokenizerFast make of texts by them.

  pip install transformers tokenizers; python3 tokenizer_traces.py"""

import json
import pathlib
import tempfile

import tokenizers
import transformers

SENTENCES = [
    "The quick brown fox jumps over the lazy dog; it wasn't the dog's fault.",
    "We'll see what they've done: 1984, 3.14 and 2001 are numbers, aren't they?",
    "unaffable, unable, unbelievable playing players played; internationalization.",
    "Ein Männlein steht im Walde, ganz still und stumm. Übermäßig große Äpfel.",
    "Le cœur a ses raisons que la raison ne connaît point. déjà vu, naïve café.",
] * 3
TEXTS = [
    "", " ", "\n", "  \n\n  ", "a", "hello", "The quick brown fox.", "THE QUICK", "the dog's fault",
    "we'll they've I'd can't you're 'tis 's", "unaffable playing internationalization",
    "caf\u00e9 na\u00efve cafe\u0301", "\u00c4pfel \u00fcberm\u00e4\u00dfig gro\u00dfe", "x" * 120,
    "3.14 + 2001 = 2004.14", "a,b;c!d?e(f)g[h]i{j}k", "tab\tand\r\nline", "  two  spaces  ",
    "trailing   ", "\u4e2d\u6587\u5b57 fox", "\uff21\u3002\uff01", "\u200bzero\u00adwidth",
    "\u00a0nbsp\u2003em", "[CLS] the fox [MASK] [SEP]", "<|endoftext|>fox<|endoftext|>",
    "\U0001f600 smile", "\u0130stanbul \u03a3\u03c2", "a_b-c\u2014d\u2019s", "\u0000\ufffdx\u0001",
    "\uac00\ub098 \u0939\u093f\u0928\u094d\u0926\u0940", "1\u00bd \u2167 \u0663", "foo\n\n\nbar \n baz",
]


def trace(tokenizer):
    return [[text, tokenizer(text, add_special_tokens=False)["input_ids"]] for text in TEXTS]


def wordpiece(folder, cased):
    maker = tokenizers.BertWordPieceTokenizer(lowercase=not cased)
    maker.train_from_iterator(SENTENCES, vocab_size=220, show_progress=False)
    maker.save_model(folder)
    path = str(pathlib.Path(folder) / "vocab.txt")
    tokenizer = transformers.BertTokenizerFast(path, do_lower_case=not cased)
    lines = pathlib.Path(path).read_text().split("\n")[:-1]
    return {"vocabulary": lines, "texts": trace(tokenizer)}


def bpe(folder):
    maker = tokenizers.ByteLevelBPETokenizer()
    maker.train_from_iterator(
        SENTENCES, vocab_size=330, special_tokens=["<|endoftext|>"], show_progress=False
    )
    maker.save_model(folder)
    vocabulary, merges = (pathlib.Path(folder) / name for name in ("vocab.json", "merges.txt"))
    tokenizer = transformers.GPT2TokenizerFast(str(vocabulary), str(merges))
    return {
        "vocabulary": vocabulary.read_text(),
        "merges": merges.read_text(),
        "texts": trace(tokenizer),
    }


def main():
    with tempfile.TemporaryDirectory() as folder:
        traces = {
            "uncased": wordpiece(folder, False),
            "cased": wordpiece(folder, True),
            "bpe": bpe(folder),
        }
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(traces, indent=0, separators=(",", ":")) + "\n")


main()
