// onnx.c: the weights of an ONNX model.
//
// in:  the mapped file (format: github.com/onnx/onnx, docs/IR.md); protobuf-c takes it apart
// out: each initialiser under its own name, and each weight once more under the name of the node
//      that uses it: "NODE[i]", i being the input, without the "_quant" that quantisers append.
//      Many initialisers have names such as "onnx::MatMul_6547"; the nodes keep the module's.
//
// Integer weights become floats by the scale and the zero point of the nodes around them: of
// MatMulInteger, ConvInteger, DynamicQuantizeLSTM, and DequantizeLinear behind a Gather. The two
// directions of an LSTM are two tensors, "NODE[i].0" and "NODE[i].1".
//
// The message is a copy of the file in memory, paid from the opening's budget and kept as long as
// the checkpoint: protobuf-c does not say where in the file a field lay.
#include <assert.h>
#include <string.h>

#include "base/half.h"
#include "exporter/checkpoint/container.h"
#include "exporter/checkpoint/onnx.pb-c.h"

#define EMBEDDING_LIMIT 64 // quantised tables that wait for their DequantizeLinear
#define DIRECTION_LIMIT 2u // of an LSTM
#define TYPE_UINT8 2
#define TYPE_INT8 3
#define LOCATION_EXTERNAL 1

typedef KzOnnx__Tensor onnx_tensor;
typedef KzOnnx__Node onnx_node;

typedef struct onnx_type {
    const char *name; // NULL: unknown
    kz_type type;
    uint32_t bytes;
} onnx_type;

static const onnx_type types[] = {
    [1] = {"FLOAT", KZ_F32, 4},
    [TYPE_UINT8] = {"UINT8", KZ_CHECKPOINT_UNREADABLE, 1},
    [TYPE_INT8] = {"INT8", KZ_I8, 1},
    [6] = {"INT32", KZ_I32, 4},
    [7] = {"INT64", KZ_CHECKPOINT_UNREADABLE, 8},
    [9] = {"BOOL", KZ_CHECKPOINT_UNREADABLE, 1},
    [10] = {"FLOAT16", KZ_F16, 2},
    [11] = {"DOUBLE", KZ_CHECKPOINT_UNREADABLE, 8},
    [16] = {"BFLOAT16", KZ_BF16, 2},
};

// An op with weights: which inputs they are, and those of their scales and zero points (0: none).
typedef struct weight_rule {
    const char *op;
    struct {
        uint32_t weight, scale, zero;
    } inputs[3];
    uint32_t count;
    bool is_lstm;
} weight_rule;

static const weight_rule rules[] = {
    {"MatMul", {{1, 0, 0}}, 1, false},
    {"MatMulInteger", {{1, 0, 3}}, 1, false},
    {"Gemm", {{1, 0, 0}, {2, 0, 0}}, 2, false},
    {"Conv", {{1, 0, 0}, {2, 0, 0}}, 2, false},
    {"ConvInteger", {{1, 0, 3}}, 1, false},
    {"ConvTranspose", {{1, 0, 0}, {2, 0, 0}}, 2, false},
    {"LSTM", {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}}, 3, true},
    {"DynamicQuantizeLSTM", {{1, 8, 9}, {2, 10, 11}, {3, 0, 0}}, 3, true},
    {"Gather", {{0, 0, 0}}, 1, false},
};

// A table that a Gather reads, until the DequantizeLinear of its output is met.
typedef struct pending_table {
    const char *output;
    size_t tensor;
} pending_table;

typedef struct reading {
    kz_checkpoint *checkpoint;
    const KzOnnx__Graph *graph;
    kazeia_status status; // of an allocation that failed
    pending_table tables[EMBEDDING_LIMIT];
    size_t table_count;
    size_t added; // weights of nodes behind the initialisers, not yet counted by the checkpoint
} reading;

bool kz_onnx_matches(const uint8_t *bytes, size_t size) {
    // Field 1 (ir_version), a small number; then a field of texts or of the opset.
    return size >= 8 && bytes[0] == 0x08 && bytes[1] >= 1 && bytes[1] <= 32 &&
           (bytes[2] == 0x12 || bytes[2] == 0x1a || bytes[2] == 0x3a || bytes[2] == 0x42) &&
           (bytes[3] & 0x7f) != 0;
}

// --- The message --------------------------------------------------------------------------------

static void *take_memory(void *context, size_t size) {
    reading *r = context;
    void *memory = NULL;
    const kazeia_status status =
        kz_container_alloc(r->checkpoint, size > 0 ? size : 1, 1, "an ONNX model", &memory);
    r->status = status != KAZEIA_OK && r->status == KAZEIA_OK ? status : r->status;
    return memory;
}

static void free_memory(void *context, void *memory) {
    const reading *r = context;
    kz_free(&r->checkpoint->allocator, memory);
}

void kz_onnx_free(kz_checkpoint *checkpoint) {
    reading r = {.checkpoint = checkpoint};
    ProtobufCAllocator allocator = {take_memory, free_memory, &r};
    if (checkpoint->message != NULL) {
        kz_onnx__model__free_unpacked(checkpoint->message, &allocator);
        checkpoint->message = NULL;
    }
}

static kazeia_status unpack(reading *r) {
    const kz_file_map *map = &r->checkpoint->files[0].map;
    ProtobufCAllocator allocator = {take_memory, free_memory, r};
    KzOnnx__Model *model = kz_onnx__model__unpack(&allocator, map->size, map->bytes);
    KZ_TRY(r->status);
    if (model == NULL) {
        return kz_fail(KAZEIA_BAD_FILE, "onnx: %zu bytes are no whole ONNX model", map->size);
    }
    r->checkpoint->message = model;
    r->graph = model->graph;
    return r->graph != NULL && r->graph->n_initializer > 0
               ? KAZEIA_OK
               : kz_fail(KAZEIA_BAD_FILE, "onnx: the model has no graph with weights");
}

// --- Initialisers -------------------------------------------------------------------------------

static kazeia_status read_dims(const onnx_tensor *from, kz_checkpoint_tensor *tensor) {
    if (from->n_dims > 4) {
        return kz_fail(KAZEIA_BAD_FILE, "onnx: tensor '%s' has %zu dimensions, expected up to 4",
                       tensor->name, from->n_dims);
    }
    tensor->rank = (uint32_t)from->n_dims;
    for (size_t i = 0; i < 4; i++) {
        const int64_t size = i < from->n_dims ? from->dims[i] : 1;
        if (size < 0) {
            return kz_fail(KAZEIA_BAD_FILE, "onnx: tensor '%s' has a dimension of %lld",
                           tensor->name, (long long)size);
        }
        tensor->dims[i] = (uint64_t)size;
    }
    return KAZEIA_OK;
}

// Where the values lie: raw bytes, or a list of a type of its own. Others stay unreadable.
static kazeia_status find_values(const onnx_tensor *from, kz_checkpoint_tensor *tensor) {
    size_t found = from->raw_data.len;
    const uint8_t *bytes = from->raw_data.data;
    if (found == 0 && tensor->type == KZ_F32) {
        found = from->n_float_data * sizeof(float);
        bytes = (const uint8_t *)from->float_data;
    } else if (found == 0 && tensor->type == KZ_I32) {
        found = from->n_int32_data * sizeof(int32_t);
        bytes = (const uint8_t *)from->int32_data;
    }
    if (found == 0 && tensor->byte_count > 0 && from->n_int32_data > 0) {
        tensor->type = KZ_CHECKPOINT_UNREADABLE; // bytes, one in each element of a list
        tensor->byte_count = 0;
        return KAZEIA_OK;
    }
    if (tensor->type != KZ_CHECKPOINT_UNREADABLE && found != tensor->byte_count) {
        return kz_fail(KAZEIA_BAD_FILE, "onnx: tensor '%s' has %zu bytes of values, expected %llu",
                       tensor->name, found, (unsigned long long)tensor->byte_count);
    }
    tensor->bytes = found > 0 ? bytes : tensor->bytes;
    tensor->byte_count = found;
    return KAZEIA_OK;
}

static kazeia_status add_initialiser(kz_checkpoint *checkpoint, const onnx_tensor *from) {
    // Rows of an empty or unreadable tensor are somewhere, too: no offset to nowhere.
    static const uint8_t nothing[1];
    kz_checkpoint_tensor tensor = {
        .name = from->name, .type = KZ_CHECKPOINT_UNREADABLE, .bytes = nothing};
    const size_t type = (size_t)(uint32_t)from->data_type;
    const bool is_known = type < sizeof types / sizeof *types && types[type].name != NULL;
    KZ_TRY(kz_container_check_name(from->name, strlen(from->name), "an initialiser's name"));
    KZ_TRY(read_dims(from, &tensor));
    tensor.type_name = is_known ? types[type].name : "of an unknown type";
    if (from->data_location == LOCATION_EXTERNAL) {
        tensor.type_name = "in another file";
    } else if (is_known) {
        tensor.type = types[type].type;
        KZ_TRY(kz_container_measure(&tensor, 1, types[type].bytes));
        const uint64_t expected = tensor.byte_count;
        KZ_TRY(find_values(from, &tensor));
        // Whole or nothing: integer weights are read by their nodes.
        tensor.byte_count = tensor.byte_count == expected ? expected : 0;
    }
    kz_container_add_tensor(checkpoint, &tensor);
    return KAZEIA_OK;
}

// --- Weights of nodes ---------------------------------------------------------------------------

static const weight_rule *rule_of(const onnx_node *node) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (node->name[0] != '\0' && strcmp(node->op_type, rules[i].op) == 0) {
            return &rules[i];
        }
    }
    return NULL;
}

static const kz_checkpoint_tensor *input_tensor(const reading *r, const onnx_node *node,
                                                uint32_t input) {
    return input < node->n_input ? kz_checkpoint_find(r->checkpoint, node->input[input]) : NULL;
}

// The initialiser of that name as the message has it: short lists are read there.
static const onnx_tensor *message_of(const reading *r, const kz_checkpoint_tensor *tensor) {
    return r->graph->initializer[tensor - r->checkpoint->tensors];
}

static size_t count_bytes(const onnx_tensor *from) {
    return from->raw_data.len > 0 ? from->raw_data.len : from->n_int32_data;
}

// Element `index` of a tensor of bytes, or of one value for all.
static bool read_byte(const reading *r, const kz_checkpoint_tensor *tensor, size_t index,
                      int32_t *out_value) {
    const onnx_tensor *from = message_of(r, tensor);
    const size_t count = count_bytes(from);
    const size_t place = count == 1 ? 0 : index;
    if ((from->data_type != TYPE_UINT8 && from->data_type != TYPE_INT8) || place >= count) {
        return false;
    }
    if (from->raw_data.len == 0) {
        *out_value = from->int32_data[place];
    } else {
        *out_value = from->data_type == TYPE_INT8 ? (int8_t)from->raw_data.data[place]
                                                  : from->raw_data.data[place];
    }
    return *out_value >= -128 && *out_value <= 255;
}

static bool all_alike(const reading *r, const kz_checkpoint_tensor *zero, int32_t *out_value) {
    const onnx_tensor *from = message_of(r, zero);
    const size_t count = count_bytes(from);
    bool is_alike = read_byte(r, zero, 0, out_value);
    for (size_t i = 1; i < count && is_alike; i++) {
        int32_t other = 0;
        is_alike = read_byte(r, zero, i, &other) && other == *out_value;
    }
    return is_alike;
}

// Sets how the bytes become floats: by one scale for all, one for each element of the last
// dimension, or one a direction; and by one zero point.
static kazeia_status set_scale(const reading *r, kz_checkpoint_tensor *tensor, uint32_t direction,
                               const kz_checkpoint_tensor *scale,
                               const kz_checkpoint_tensor *zero) {
    const uint64_t count = scale && scale->type == KZ_F32 ? scale->byte_count / 4 : 0;
    const uint64_t last = tensor->rank > 0 ? tensor->dims[tensor->rank - 1] : 1;
    const bool is_split = direction < DIRECTION_LIMIT && count == DIRECTION_LIMIT;
    int32_t value = 0;
    const bool has_zero =
        !zero || (is_split ? read_byte(r, zero, direction, &value) : all_alike(r, zero, &value));
    if (count == 0 || !has_zero || (count != 1 && count != last && !is_split)) {
        return kz_fail(KAZEIA_UNSUPPORTED,
                       "onnx: the integers '%s' have %llu scales and %s zero point, expected 1 or "
                       "%llu, and one",
                       tensor->name, (unsigned long long)count, has_zero ? "a" : "no single",
                       (unsigned long long)last);
    }
    tensor->type = KZ_I8;
    tensor->scales = scale->bytes + (is_split ? 4 * (size_t)direction : 0);
    tensor->scale_count = is_split ? 1 : count;
    tensor->zero = value;
    tensor->is_unsigned = strcmp(tensor->type_name, types[TYPE_UINT8].name) == 0;
    return KAZEIA_OK;
}

// "NAME_quantized" -> the tensor "NAME_scale"; NULL when there is none.
static const kz_checkpoint_tensor *scale_by_name(const reading *r, const char *name) {
    static const char ending[] = "_quantized";
    char scale[KZ_CHECKPOINT_NAME_LIMIT + 8];
    const size_t length = strlen(name);
    const size_t cut = sizeof ending - 1;
    if (length <= cut || strcmp(name + length - cut, ending) != 0) {
        return NULL;
    }
    memcpy(scale, name, length - cut);
    memcpy(scale + length - cut, "_scale", sizeof "_scale");
    return kz_checkpoint_find(r->checkpoint, scale);
}

// "NODE[i]" or "NODE[i].d".
static kazeia_status name_weight(kz_checkpoint *checkpoint, const onnx_node *node, uint32_t input,
                                 uint32_t direction, const char **out_name) {
    static const char ending[] = "_quant";
    char name[KZ_CHECKPOINT_NAME_LIMIT + 1];
    size_t length = strlen(node->name);
    const size_t cut = sizeof ending - 1;
    if (length > cut && strcmp(node->name + length - cut, ending) == 0) {
        length -= cut;
    }
    if (length + 8 > KZ_CHECKPOINT_NAME_LIMIT) {
        return kz_fail(KAZEIA_BAD_FILE, "onnx: a node's name has %zu bytes", length);
    }
    memcpy(name, node->name, length);
    name[length++] = '[';
    name[length++] = (char)('0' + input);
    name[length++] = ']';
    if (direction < DIRECTION_LIMIT) {
        name[length++] = '.';
        name[length++] = (char)('0' + direction);
    }
    return kz_container_copy_name(checkpoint, name, length, "a node's name", out_name);
}

static bool is_integer(const reading *r, const kz_checkpoint_tensor *tensor) {
    const int32_t type = message_of(r, tensor)->data_type;
    return (type == TYPE_UINT8 || type == TYPE_INT8) && tensor->byte_count > 0;
}

// One direction's share: the first dimension goes.
static bool split_direction(kz_checkpoint_tensor *tensor, uint32_t direction) {
    if (tensor->rank < 2 || direction >= tensor->dims[0]) {
        return false;
    }
    tensor->byte_count /= tensor->dims[0];
    tensor->bytes += tensor->byte_count * direction;
    memmove(tensor->dims, tensor->dims + 1, 3 * sizeof *tensor->dims);
    tensor->dims[3] = 1;
    tensor->rank--;
    return true;
}

static kazeia_status add_weight(reading *r, const onnx_node *node, const weight_rule *rule,
                                uint32_t which, uint32_t direction) {
    const uint32_t input = rule->inputs[which].weight;
    const kz_checkpoint_tensor *from = input_tensor(r, node, input);
    kz_checkpoint_tensor tensor = *from;
    KZ_TRY(name_weight(r->checkpoint, node, input, direction, &tensor.name));
    if (direction < DIRECTION_LIMIT && !split_direction(&tensor, direction)) {
        return KAZEIA_OK;
    }
    if (is_integer(r, from) && strcmp(rule->op, "Gather") == 0) {
        if (r->table_count == EMBEDDING_LIMIT || node->n_output == 0) {
            return kz_fail(KAZEIA_UNSUPPORTED, "onnx: more than %d quantised tables",
                           EMBEDDING_LIMIT);
        }
        r->tables[r->table_count++] =
            (pending_table){node->output[0], r->checkpoint->tensor_count + r->added};
    } else if (is_integer(r, from)) {
        const uint32_t scale = rule->inputs[which].scale;
        const uint32_t zero = rule->inputs[which].zero;
        KZ_TRY(set_scale(r, &tensor, direction,
                         scale > 0 ? input_tensor(r, node, scale) : scale_by_name(r, from->name),
                         zero > 0 ? input_tensor(r, node, zero) : NULL));
    }
    // Look-ups go by the initialisers' order until all are there.
    assert(r->checkpoint->tensor_count + r->added < r->checkpoint->tensor_capacity);
    r->checkpoint->tensors[r->checkpoint->tensor_count + r->added++] = tensor;
    return KAZEIA_OK;
}

static kazeia_status visit_node(reading *r, const onnx_node *node) {
    const weight_rule *rule = rule_of(node);
    for (uint32_t i = 0; rule && i < rule->count; i++) {
        if (!input_tensor(r, node, rule->inputs[i].weight)) {
            continue;
        }
        for (uint32_t d = 0; d < (rule->is_lstm ? DIRECTION_LIMIT : 1); d++) {
            KZ_TRY(add_weight(r, node, rule, i, rule->is_lstm ? d : DIRECTION_LIMIT));
        }
    }
    return KAZEIA_OK;
}

// A DequantizeLinear gives the table that was gathered its scale.
static kazeia_status settle_table(reading *r, const onnx_node *node) {
    for (size_t i = 0; i < r->table_count && node->n_input > 1; i++) {
        if (strcmp(r->tables[i].output, node->input[0]) == 0) {
            kz_checkpoint_tensor *table = &r->checkpoint->tensors[r->tables[i].tensor];
            return set_scale(r, table, DIRECTION_LIMIT, input_tensor(r, node, 1),
                             input_tensor(r, node, 2));
        }
    }
    return KAZEIA_OK;
}

static kazeia_status add_weights(reading *r) {
    for (size_t i = 0; i < r->graph->n_node; i++) {
        KZ_TRY(visit_node(r, r->graph->node[i]));
    }
    for (size_t i = 0; i < r->graph->n_node; i++) {
        if (strcmp(r->graph->node[i]->op_type, "DequantizeLinear") == 0) {
            KZ_TRY(settle_table(r, r->graph->node[i]));
        }
    }
    return KAZEIA_OK;
}

// Room for every input that might be a weight: which are is known once initialisers have an order.
static uint64_t most_weights(const KzOnnx__Graph *graph) {
    uint64_t count = 0;
    for (size_t i = 0; i < graph->n_node; i++) {
        const weight_rule *rule = rule_of(graph->node[i]);
        count += rule ? (uint64_t)rule->count * (rule->is_lstm ? DIRECTION_LIMIT : 1) : 0;
    }
    return count;
}

kazeia_status kz_onnx_read(kz_checkpoint *checkpoint) {
    reading r = {.checkpoint = checkpoint};
    KZ_TRY(unpack(&r));
    KZ_TRY(kz_container_reserve(checkpoint, r.graph->n_initializer + most_weights(r.graph), 0, 0));
    for (size_t i = 0; i < r.graph->n_initializer; i++) {
        KZ_TRY(add_initialiser(checkpoint, r.graph->initializer[i]));
    }
    checkpoint->architecture = "unknown"; // the file says nothing of it
    KZ_TRY(kz_container_finish(checkpoint));
    KZ_TRY(add_weights(&r));
    checkpoint->tensor_count += r.added;
    return kz_container_finish(checkpoint);
}
