// nodes.h: what the functions of graph.h that add instructions share.
//
//   in   a method, whose graph may have failed
//   out  an instruction or a value at its end
#ifndef KZ_EXPORTER_GRAPH_NODES_H
#define KZ_EXPORTER_GRAPH_NODES_H

#include "exporter/graph/graph.h"

// Operands may be KZ_NO_VALUE after a failure: such an instruction is never kept.
void kz_node_add_instruction(kz_graph_method *method, const kz_instruction *instruction);
// `out`, or fresh rows like `x` with `columns` columns.
uint32_t kz_node_out_or_rows(kz_graph_method *method, uint32_t out, uint32_t x, uint32_t columns);

#endif
