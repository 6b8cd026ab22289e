# SPDX-License-Identifier: Apache-2.0
"""Shows Doxygen the headers' plain comments as documentation, line for line:

  // text           before a declaration    becomes    /** text */
  int size;  // text                        becomes    int size;  /**< text */
  the comment at the top of a file          becomes    /** \\file text */

Comments before a blank line and in the bodies of functions stay comments. Text that is indented in
a comment stays as it is laid out. What a comment cannot add to says itself what it is: `= default`,
`= delete` and destructors."""

import pathlib
import re
import sys

COMMENT = re.compile(r"^(\s*)//(?: (.*)|)$")
TRAILING = re.compile(r"^(?P<code>\s*[^\s/].*?)\s+// (?P<text>.*)$")
LICENCE = "SPDX-License-Identifier"
SCOPE = re.compile(r"\b(?:namespace|struct|class|union|enum)\b[^()=]*$")
OPENS_TYPE = re.compile(r"\s*(?:enum|struct|class) .*\{")
DECLARATION = re.compile(r"\s*(?P<type>.*?\S) \w+(?: = .*|\{.*\}|)$")
SPECIAL = [
    (re.compile(r"= default;$"), "As the compiler makes it."),
    (re.compile(r"= delete;$"), "Not to be used: the object cannot be copied."),
    (re.compile(r"\bappend_text\(std::string& out, "), "Adds the value as text, for concat()."),
    (re.compile(r"\b(?:OpInfo info\{|(?:attributes|infer|kernels)\(.*[;}]$)"), "See Op."),
    (re.compile(r"^\s*(?:virtual )?~\w+\(\)(?: override)?;$"), "Ends the object."),
]
# Characters that mean something to Doxygen outside of `code`.
MEANING = re.compile(r"[\\@<>#&*%]")


def escaped(text):
    parts = text.split("`")
    parts[::2] = (MEANING.sub(lambda match: "\\" + match.group(), part) for part in parts[::2])
    return "`".join(parts)


def laid_out(lines):
    """The text of a comment, with what is indented in it marked as verbatim."""
    result, indented = [], False
    for line in lines:
        if line.startswith("  ") and not indented:
            indented = True
            result[-1] += " \\verbatim" if result else ""
        elif indented and line and not line.startswith("  "):
            indented = False
            result[-1] += " \\endverbatim"
        result.append(line if indented else escaped(line))
    if indented:
        result[-1] += " \\endverbatim"
    return result


def documentation(lines, opening):
    """The lines of a comment as a block that Doxygen reads."""
    text = laid_out(lines)
    text[0] = f"{opening} {text[0]}".rstrip()
    text[-1] += " */"
    return text


class Scopes:
    """Whether a line stands among declarations, or in a body, an initializer or a macro."""

    def __init__(self):
        self.open = []
        self.statement = ""

    def among_declarations(self):
        return all(self.open)

    def read(self, code):
        for part in re.split(r"([{};])", re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', "", code)):
            if part == "{":
                self.open.append(bool(SCOPE.search(self.statement)))
            elif part == "}" and self.open:
                self.open.pop()
            elif part not in {"{", "}", ";"}:
                self.statement += part + " "
                continue
            self.statement = ""


def split_outside_brackets(text):
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<({[") - (character in ">)}]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def each_documented(code, text):
    """`int a, b;` as two declarations with the same comment, which Doxygen gives to one alone."""
    first, *others = split_outside_brackets(code.rstrip(";"))
    match = DECLARATION.match(first)
    if not others or not match or not code.endswith(";"):
        return f"{code}  /**< {text} */"
    comment = f"/** {text} */"
    more = (f" {comment} {match['type']} {other.strip()};" for other in others)
    return f"{comment} {first};" + "".join(more)


def shown(line):
    """One line among declarations, its trailing comment as documentation."""
    match = TRAILING.match(line)
    if match:
        code, text = match["code"], escaped(match["text"])
        if OPENS_TYPE.match(code):
            return f"/** {text} */ {code}"
        return each_documented(code, text)
    for pattern, text in SPECIAL:
        if pattern.search(line):
            return f"{line}  /**< {text} */"
    return line


def filtered(text):
    lines = text.split("\n")
    result, scopes, at = [], Scopes(), 0
    while at < len(lines):
        end = at
        while end < len(lines) and COMMENT.match(lines[end]):
            end += 1
        if end == at:
            line = lines[at]
            is_directive = line.startswith("#")
            shows = scopes.among_declarations() and not re.match("#(?!define)", line)
            result.append(shown(line) if shows else line)
            if not is_directive:
                scopes.read(line.split(" // ")[0])
            at += 1
            continue
        block = [COMMENT.match(line).group(2) or "" for line in lines[at:end]]
        if LICENCE in block[0]:
            result += documentation(["", *block[1:]], "/** \\file")
        elif scopes.among_declarations() and end < len(lines) and lines[end].strip():
            result += documentation(block, "/**")
        else:
            result += lines[at:end]
        at = end
    return "\n".join(result)


if __name__ == "__main__":
    sys.stdout.write(filtered(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
