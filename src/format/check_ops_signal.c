// check_ops_signal.c: rules of the ops that see a signal along its rows.
//
// in:  an instruction whose operands are values of its method
// out: a status
// The rows of an output follow from the rows of an input as expressions over the method's symbols,
// so that no call can write outside of it.
#include "format/check_parts.h"

// [rows][columns] with just these dimensions; `expected` says so in words.
static kazeia_status expect_shape(const kz_check_site *site, uint32_t i, bool may_be_a8,
                                  const kz_dim *rows, uint64_t columns, const char *expected) {
    uint32_t found;
    KZ_TRY(kz_expect_rows(site, i, may_be_a8, &found));
    if (found != columns || !kz_dim_equal(rows, &kz_operand(site, i)->dims[0])) {
        return kz_operand_fail(site, i, expected);
    }
    return KAZEIA_OK;
}

// Sets the rows that a window gives whose left and right margins are the attributes `left` and the
// next one; false when they are no dimension.
static bool window_rows(const kz_check_site *site, int32_t kernel, int32_t stride, int32_t dilation,
                        uint32_t left, kz_dim *out_rows) {
    const int32_t *ints = site->instruction->ints;
    // In 64 bits: dilation * kernel goes up to 2^32.
    const int64_t added =
        (int64_t)ints[left] + ints[left + 1] - (int64_t)dilation * ((int64_t)kernel - 1);
    return added >= INT32_MIN &&
           kz_dim_window(&kz_operand(site, 0)->dims[0], (int32_t)added, (uint32_t)stride, out_rows);
}

kazeia_status kz_check_unfold(const kz_check_site *site) {
    const char *expected =
        "ceil((rows + left + right - dilation * (kernel - 1)) / stride) rows of kernel * columns";
    const int32_t *ints = site->instruction->ints;
    uint32_t columns;
    kz_dim rows;
    KZ_TRY(kz_expect_rows(site, 0, false, &columns));
    KZ_TRY(kz_expect_int(site, 0, "kernel", 1, KZ_KERNEL_LIMIT));
    KZ_TRY(kz_expect_int(site, 1, "stride", 1, KZ_KERNEL_LIMIT));
    KZ_TRY(kz_expect_int(site, 2, "dilation", 1, KZ_KERNEL_LIMIT));
    KZ_TRY(kz_expect_int(site, 3, "left", 0, KZ_KERNEL_LIMIT));
    KZ_TRY(kz_expect_int(site, 4, "right", 0, KZ_KERNEL_LIMIT));
    if (!window_rows(site, ints[0], ints[1], ints[2], 3, &rows)) {
        return kz_operand_fail(site, 1, expected);
    }
    // In 64 bits: both factors go up to 2^31.
    return expect_shape(site, 1, true, &rows, (uint64_t)columns * (uint32_t)ints[0], expected);
}
