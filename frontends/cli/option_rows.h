// option_rows.h: what docs/options says about each option of each command.
//
// in:  option_rows.c, which option_rows.cmake makes from the pages
// out: rows that the parser checks against and --help prints
//
// The pages are the one source: spelling, who takes it, default and help are written nowhere else.
#ifndef CLI_OPTION_ROWS_H
#define CLI_OPTION_ROWS_H

#include <stddef.h>

typedef struct cli_option_row {
    const char *command;       // "generate"; "*" for every command; "kazeia" without a command
    const char *name;          // with its dashes
    const char *short_name;    // with its dash, or ""
    const char *argument;      // "" for a switch; "a|b" lists the only values
    const char *default_value; // a value, words in parentheses, or ""
    const char *help;
} cli_option_row;

extern const cli_option_row cli_option_rows[];
extern const size_t cli_option_row_count;

#endif
