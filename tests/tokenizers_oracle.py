# SPDX-License-Identifier: Apache-2.0
"""Tokenizers against Hugging Face's: WordPiece by BERT's vocabulary, cased and uncased, and byte-level
BPE with a vocabulary that is made here, as GPT-2's is. Texts are lines of Shakespeare, of German and
English captions, of Wikipedia, and random characters of all of Unicode. Characters that the two know
from different versions of Unicode, assigned in one only, are left out."""

import importlib.util
import json
import lzma
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

SOURCE = pathlib.Path(os.environ["NARROWGAUGE_SOURCE"])
DATA = pathlib.Path(os.environ.get("NARROWGAUGE_DATA", SOURCE.parent / "shared" / "data")) / "text"
LINES, RANDOM_TEXTS = 3000, 3000
# Blocks that Unicode had early, with what tokenizers tell apart: accents, signs, blanks, scripts.
BLOCKS = [(0x20, 0x7F), (0x20, 0x7F), (0x80, 0x250), (0x300, 0x370), (0x370, 0x600), (0x900, 0x980),
          (0x1E00, 0x2070), (0x20A0, 0x20C0), (0x3000, 0x3100), (0x4E00, 0x4F00), (0xAC00, 0xAD00),
          (0xF900, 0xF940), (0xFF00, 0xFFF0), (0x1F300, 0x1F500), (0x20000, 0x20020), (0, 0x20)]


def random_text(dice):
    characters = []
    for _ in range(dice.randrange(1, 60)):
        begin, end = dice.choice(BLOCKS)
        character = chr(dice.randrange(begin, end))
        # What Python's Unicode does not know may be anything in another version.
        if unicodedata.category(character) not in ("Cn", "Cs"):
            characters.append(character)
        if dice.random() < 0.3:
            characters.append(dice.choice([" ", "  ", "\n", "'s", "'ll", "é", "9", "naïve", "\t"]))
    return "".join(characters)


def read_lines(name):
    path = DATA / name
    content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    return content.decode().splitlines(keepends=True)


def make_texts():
    dice = random.Random(1)
    texts = ["", " ", "\n\n", "[CLS] a [MASK] [SEP]", "<|endoftext|>x", "a" * 200, "x" + " " * 50]
    names = ["tinyshakespeare/input.txt", "multi30k_task1/test_2016_flickr.lc.norm.tok.de",
             "multi30k_task1/val.lc.norm.tok.en", "wikitext2/valid.txt.xz", "xquad/xquad.de.json.xz"]
    for name in names:
        lines = read_lines(name)
        texts += dice.sample(lines, min(LINES, len(lines)))
    joined = "".join(read_lines(names[0])[:500])
    return texts + [joined] + [random_text(dice) for _ in range(RANDOM_TEXTS)]


def our_answers(texts, *flags):
    program = pathlib.Path(os.environ["NARROWGAUGE_BUILD"]) / "bench" / "bench_token_answers"
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for text in texts:
            file.write(json.dumps(text) + "\n")
        file.flush()
        command = [program, "--texts", file.name, *flags]
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in out.decode().strip().split("\n")]


def compare(title, texts, theirs, flags, lossless=False):
    ours = our_answers(texts, *flags)
    assert len(ours) == len(texts), (len(ours), len(texts))
    tokens = sum(len(each) for each in theirs)
    wrong = [i for i, each in enumerate(ours) if each["tokens"] != theirs[i]]
    for i in wrong[:5]:
        print(f"{title}: {texts[i]!r}: {ours[i]['tokens']}, expected {theirs[i]}")
    lost = [i for i, each in enumerate(ours) if lossless and each["text"] != texts[i]]
    for i in lost[:5]:
        print(f"{title}: {texts[i]!r} came back as {ours[i]['text']!r}")
    print(f"{title}: {len(texts)} texts, {tokens} tokens, {len(wrong)} differ, {len(lost)} lost")
    return not wrong and not lost


def compare_bert(texts, cased):
    import transformers

    vocabulary = DATA / "bert_vocab" / "bert-base-uncased-vocab.txt"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "vocab.txt"
        path.write_bytes(vocabulary.read_bytes())
        theirs = transformers.BertTokenizerFast(str(path), do_lower_case=not cased)
        expected = [theirs(text, add_special_tokens=False)["input_ids"] for text in texts]
    flags = ["--kind", "wordpiece", "--vocabulary", vocabulary] + (["--cased"] if cased else [])
    return compare("wordpiece " + ("cased" if cased else "uncased"), texts, expected, flags)


def compare_bpe(texts):
    import tokenizers
    import transformers

    maker = tokenizers.ByteLevelBPETokenizer()
    files = [str(DATA / "tinyshakespeare" / "input.txt"),
             str(DATA / "multi30k_task1" / "test_2016_flickr.lc.norm.tok.de")]
    maker.train(files, vocab_size=3000, special_tokens=["<|endoftext|>"])
    with tempfile.TemporaryDirectory() as folder:
        maker.save_model(folder)
        vocabulary, merges = (str(pathlib.Path(folder) / name) for name in ("vocab.json", "merges.txt"))
        theirs = transformers.GPT2TokenizerFast(vocabulary, merges)
        expected = [theirs(text, add_special_tokens=False)["input_ids"] for text in texts]
        flags = ["--kind", "bpe", "--vocabulary", vocabulary, "--merges", merges]
        return compare("bpe", texts, expected, flags, lossless=True)


def main():
    for package in ("transformers", "tokenizers"):
        if importlib.util.find_spec(package) is None:
            print(f"[SKIP] {package} is not installed")
            return
    if not DATA.is_dir():
        print(f"[SKIP] no {DATA}")
        return
    texts = make_texts()
    agree = [compare_bert(texts, False), compare_bert(texts, True), compare_bpe(texts)]
    sys.exit(not all(agree))


main()
