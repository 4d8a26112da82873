// nearest.c: which known word is closest to a misspelt one.
//
// in:  two words
// out: their distance (Damerau and Levenshtein's, with swaps of neighbours only); whether it is
// small
//
// A swap counts once, because "--modle" for "--model" is the most frequent slip.
#include "nearest.h"

#include <string.h>

#define LONGEST_WORD 63

static size_t smaller(size_t left, size_t right) {
    return left < right ? left : right;
}

size_t cli_edit_distance(const char *left, const char *right) {
    // Cut, so that the table has a fixed size: two words of 64 letters are not each other's slip.
    const size_t rows = strnlen(left, LONGEST_WORD);
    const size_t columns = strnlen(right, LONGEST_WORD);
    size_t cost[LONGEST_WORD + 1][LONGEST_WORD + 1]; // [letters of left][letters of right]
    for (size_t i = 0; i <= rows; i++) {
        for (size_t j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            const size_t replaced = cost[i - 1][j - 1] + (left[i - 1] != right[j - 1]);
            cost[i][j] = smaller(replaced, smaller(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
                cost[i][j] = smaller(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[rows][columns];
}

static size_t count_letters(const char *word) {
    return strnlen(word + strspn(word, "-"), LONGEST_WORD);
}

bool cli_is_slip(size_t distance, const char *left, const char *right) {
    const size_t left_letters = count_letters(left);
    const size_t right_letters = count_letters(right);
    const size_t most = (left_letters > right_letters ? left_letters : right_letters) / 3;
    return distance <= (most > 1 ? most : 1);
}
