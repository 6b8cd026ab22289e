// SPDX-License-Identifier: Apache-2.0
// Where the program writes: results to stdout, progress and messages to stderr. Tells what is a
// terminal, how wide it is, and whether colours are wanted.
#pragma once

#include <string>
#include <string_view>

namespace narrowgauge::cli {

bool stderr_is_terminal();  // one that can redraw a line
bool colours_wanted();      // on stderr; off with NO_COLOR (no-color.org) or a dumb terminal

// The width from COLUMNS, else of `file`'s terminal, else of stderr's (as under `| less`), else 80.
int terminal_width(int file);
std::size_t output_width();  // of tables on stdout

// Prints results: text made printable, bytes as they are. A failure (a full disk, a closed
// descriptor) is kept for finish_output().
void print(std::string_view text);
void print_bytes(std::string_view bytes);
// Prints sentences, not tables: folds lines if COLUMNS is set or stdout is a terminal.
void print_text(std::string_view text);
bool output_failed();  // also where whoever read it has closed the pipe
void finish_output();  // throws DataError if some output could not be written

// Prints "narrowgauge: <kind>: <text>" as one printable line of bounded length on stderr, in place
// of a progress bar there.
void say(std::string_view kind, std::string_view text);

// Shows a line on a terminal's stderr that the next one replaces, unless it ends in a line feed; ""
// removes it.
void show_status(const std::string& line);

}  // namespace narrowgauge::cli
