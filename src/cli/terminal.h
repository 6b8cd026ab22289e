// SPDX-License-Identifier: Apache-2.0
// Where the program writes: results to stdout, progress and messages to stderr. Says what is a
// terminal, how wide it is, and whether colours are wanted.
#pragma once

#include <string>
#include <string_view>

namespace narrowgauge::cli {

bool stderr_is_terminal();  // one that can redraw a line
bool colours_wanted();      // on stderr; off with NO_COLOR (no-color.org) or a dumb terminal

// COLUMNS; else those of the terminal that `file` is; else those of stderr's (`| less`); else 80.
int terminal_width(int file);
std::size_t output_width();  // of tables on stdout

// Results, made printable or, as bytes, as they are. A failure (a full disk, a closed descriptor)
// is remembered for finish_output().
void print(std::string_view text);
void print_bytes(std::string_view bytes);
// The same, with lines folded where COLUMNS is set or stdout is a terminal: sentences, not tables.
void print_text(std::string_view text);
void finish_output();  // throws DataError when not all of it could be written

// "narrowgauge: <kind>: <text>" as one printable line of bounded length on stderr, in place of a
// bar that stands there.
void say(std::string_view kind, std::string_view text);

// A line on a terminal's stderr that the next one replaces, unless it ends in a line feed; "" takes
// it away.
void show_status(const std::string& line);

}  // namespace narrowgauge::cli
