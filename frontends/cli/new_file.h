// new_file.h: files that the program itself writes, whole or not at all.
//
// in:  a path, then bytes
// out: the file, in place at commit and not before
//
// The library writes its own files the same way; this one is for what only the program makes
// (arrays, pictures).
#ifndef CLI_NEW_FILE_H
#define CLI_NEW_FILE_H

#include <limits.h>
#include <stdio.h>

#include "failure.h"

typedef struct cli_new_file {
    const char *path;
    FILE *stream; // NULL: closed
    char temporary[PATH_MAX];
} cli_new_file;

kazeia_status cli_new_file_open(const char *path, cli_new_file *out_file,
                                cli_sentence *out_sentence);
kazeia_status cli_new_file_write(cli_new_file *file, const void *bytes, size_t count,
                                 cli_sentence *out_sentence);
// Puts the file in place. Closes it, also on failure.
kazeia_status cli_new_file_commit(cli_new_file *file, cli_sentence *out_sentence);
// Fails when the output is that input: writing it would destroy what is read. NULL is no file.
kazeia_status cli_refuse_same_file(const char *input, const char *output,
                                   cli_sentence *out_sentence);
// Closes and leaves nothing; does nothing after commit.
void cli_new_file_drop(cli_new_file *file);

#endif
