// template_calls.h: what the files of filters, methods and functions share: reading arguments.
#ifndef KZ_LLM_TEMPLATE_CALLS_H
#define KZ_LLM_TEMPLATE_CALLS_H

#include "llm/template_machine.h"

#define KZ_CALL_ARGUMENTS 4u // of any filter, method or function, those with any number apart

// The arguments of `names` (separated by spaces) by place or by name; NULL for one not given.
// BAD_ARGUMENT for one more, or one of another name.
KAZEIA_MUST_CHECK kazeia_status kz_call_arguments(const kz_call *call, const char *names,
                                                  const kz_variant *out_values[KZ_CALL_ARGUMENTS]);
// NULL gives `when_absent`; BAD_ARGUMENT when it is no whole number.
KAZEIA_MUST_CHECK kazeia_status kz_call_integer(const kz_variant *argument, int64_t when_absent,
                                                int64_t *out_integer);
// BAD_ARGUMENT when it is no string. NULL gives "".
KAZEIA_MUST_CHECK kazeia_status kz_call_string(const kz_variant *argument, kz_variant *out_string);

// {key: value} as tuples.
KAZEIA_MUST_CHECK kazeia_status kz_map_items(kz_heap *heap, const kz_variant *map,
                                             kz_variant *out_list);
// Characters, elements, entries; BAD_ARGUMENT for what has none.
KAZEIA_MUST_CHECK kazeia_status kz_variant_length(kz_heap *heap, const kz_variant *value,
                                                  kz_variant *out_length);
// `format` of strftime at the time `now`, as 2026-01-31 or 2026-01-31T12:00:00.
KAZEIA_MUST_CHECK kazeia_status kz_date_format(kz_heap *heap, const kz_variant *now,
                                               const kz_variant *format, kz_variant *out_string);

#endif
