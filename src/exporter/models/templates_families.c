// templates_families.c: chat templates of families, for checkpoints without one of their own.
//   in   a family's name
//   out  Jinja text
// Written for this project from what the families' formats are; each renders the same text as the
// models' own templates. They are compiled like any other.
#include <string.h>

#include "exporter/models/templates.h"

// ChatML with thoughts, tool calls and tool results. A thought is printed only in replies behind
// the last question; results of tools are no question.
static const char qwen3_text[] =
    "{%- set talk = namespace(question=messages | length - 1) %}\n"
    "{%- for message in messages %}\n"
    "{%- if message.role == 'user' and not (message.content.startswith('<tool_response>') and "
    "message.content.endswith('</tool_response>')) %}\n"
    "{%- set talk.question = loop.index0 %}\n"
    "{%- endif %}\n"
    "{%- endfor %}\n"
    "{%- if tools or messages[0].role == 'system' %}\n"
    "{{- '<|im_start|>system\\n' }}\n"
    "{%- if messages[0].role == 'system' %}\n"
    "{{- messages[0].content + ('\\n\\n' if tools else '') }}\n"
    "{%- endif %}\n"
    "{%- if tools %}\n"
    "{{- '# Tools\\n\\nYou may call one or more functions to assist with the user query.\\n\\nYou "
    "are provided with function signatures within <tools></tools> XML tags:\\n<tools>' }}\n"
    "{%- for tool in tools %}\n"
    "{{- '\\n' }}\n"
    "{{- tool | tojson }}\n"
    "{%- endfor %}\n"
    "{{- '\\n</tools>\\n\\nFor each function call, return a json object with function name and "
    "arguments within <tool_call></tool_call> XML tags:\\n<tool_call>\\n{\"name\": "
    "<function-name>, \"arguments\": <args-json-object>}\\n</tool_call>' }}\n"
    "{%- endif %}\n"
    "{{- '<|im_end|>\\n' }}\n"
    "{%- endif %}\n"
    "{%- for message in messages %}\n"
    "{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}\n"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}\n"
    "{%- elif message.role == 'assistant' %}\n"
    "{%- set answer = message.content %}\n"
    "{%- set thought = '' %}\n"
    "{%- if message.reasoning_content is defined and message.reasoning_content is not none %}\n"
    "{%- set thought = message.reasoning_content %}\n"
    "{%- elif '</think>' in answer %}\n"
    "{%- set thought = "
    "answer.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}\n"
    "{%- set answer = answer.split('</think>')[-1].lstrip('\\n') %}\n"
    "{%- endif %}\n"
    "{{- '<|im_start|>assistant\\n' }}\n"
    "{%- if loop.index0 > talk.question and (loop.last or thought) %}\n"
    "{{- '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + answer.lstrip('\\n') }}\n"
    "{%- else %}\n"
    "{{- answer }}\n"
    "{%- endif %}\n"
    "{%- for given in message.tool_calls or [] %}\n"
    "{%- set call = given.function or given %}\n"
    "{{- '\\n' if answer or not loop.first else '' }}\n"
    "{{- '<tool_call>\\n{\"name\": \"' + call.name + '\", \"arguments\": ' }}\n"
    "{{- call.arguments if call.arguments is string else call.arguments | tojson }}\n"
    "{{- '}\\n</tool_call>' }}\n"
    "{%- endfor %}\n"
    "{{- '<|im_end|>\\n' }}\n"
    "{%- elif message.role == 'tool' %}\n"
    "{%- if loop.first or loop.previtem.role != 'tool' %}\n"
    "{{- '<|im_start|>user' }}\n"
    "{%- endif %}\n"
    "{{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}\n"
    "{%- if loop.last or loop.nextitem.role != 'tool' %}\n"
    "{{- '<|im_end|>\\n' }}\n"
    "{%- endif %}\n"
    "{%- endif %}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}\n"
    "{{- '<|im_start|>assistant\\n' }}\n"
    "{{- '<think>\\n\\n</think>\\n\\n' if enable_thinking is defined and enable_thinking is false "
    "else '' }}\n"
    "{%- endif %}\n";

// With SmolLM2's default system message, where none is given.
static const char chatml_text[] =
    "{%- for message in messages %}\n"
    "{%- if loop.first and message.role != 'system' %}\n"
    "{{- '<|im_start|>system\\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
    "Face<|im_end|>\\n' }}\n"
    "{%- endif %}\n"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}\n"
    "{{- '<|im_start|>assistant\\n' }}\n"
    "{%- endif %}\n";

// No system turn: the message stands in front of the first question. Turns must alternate.
static const char gemma3_text[] =
    "{{- bos_token | default('<bos>') }}\n"
    "{%- set talk = namespace(turns=messages, before='') %}\n"
    "{%- if messages[0].role == 'system' %}\n"
    "{%- set first = messages[0].content %}\n"
    "{%- set talk.before = (first if first is string else first[0].text) + '\\n\\n' %}\n"
    "{%- set talk.turns = messages[1:] %}\n"
    "{%- endif %}\n"
    "{%- for turn in talk.turns %}\n"
    "{%- if (turn.role == 'user') != (loop.index0 % 2 == 0) %}\n"
    "{{- raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') "
    "}}\n"
    "{%- endif %}\n"
    "{{- '<start_of_turn>' + ('model' if turn.role == 'assistant' else turn.role) + '\\n' }}\n"
    "{%- if loop.first %}\n"
    "{{- talk.before }}\n"
    "{%- endif %}\n"
    "{%- if turn.content is string %}\n"
    "{{- turn.content | trim }}\n"
    "{%- elif turn.content is iterable %}\n"
    "{%- for part in turn.content %}\n"
    "{%- if part.type == 'text' %}\n"
    "{{- part.text | trim }}\n"
    "{%- elif part.type == 'image' %}\n"
    "{{- '<start_of_image>' }}\n"
    "{%- endif %}\n"
    "{%- endfor %}\n"
    "{%- else %}\n"
    "{{- raise_exception('Invalid content type') }}\n"
    "{%- endif %}\n"
    "{{- '<end_of_turn>\\n' }}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}\n"
    "{{- '<start_of_turn>model\\n' }}\n"
    "{%- endif %}\n";

// Llama 3; with tools or date_string as Llama 3.2, whose system turn names the date.
static const char llama3_text[] =
    "{{- bos_token | default('<|begin_of_text|>') }}\n"
    "{%- set given = custom_tools if custom_tools is defined else tools | default(none) %}\n"
    "{%- set talk = namespace(turns=messages, system='') %}\n"
    "{%- if given is not none or date_string is defined %}\n"
    "{%- if messages[0].role == 'system' %}\n"
    "{%- set talk.system = messages[0].content | trim %}\n"
    "{%- set talk.turns = messages[1:] %}\n"
    "{%- endif %}\n"
    "{{- '<|start_header_id|>system<|end_header_id|>\\n\\n' }}\n"
    "{{- 'Environment: ipython\\n' if given is not none else '' }}\n"
    "{{- 'Cutting Knowledge Date: December 2023\\nToday Date: ' + (date_string | default('26 Jul "
    "2024')) + '\\n\\n' }}\n"
    "{%- set how = 'Respond in the format {\"name\": function name, \"parameters\": dictionary of "
    "argument name and its value}.Do not use variables.\\n\\n' %}\n"
    "{%- set in_turn = tools_in_user_message | default(true) %}\n"
    "{%- if given is not none and not in_turn %}\n"
    "{{- 'You have access to the following functions. To call a function, please respond with JSON "
    "for a function call.' + how }}\n"
    "{%- for tool in given %}\n"
    "{{- tool | tojson(indent=4) }}\n"
    "{{- '\\n\\n' }}\n"
    "{%- endfor %}\n"
    "{%- endif %}\n"
    "{{- talk.system + '<|eot_id|>' }}\n"
    "{%- if given is not none and in_turn %}\n"
    "{%- if not talk.turns %}\n"
    "{{- raise_exception(\"Cannot put tools in the first user message when there's no first user "
    "message!\") }}\n"
    "{%- endif %}\n"
    "{{- '<|start_header_id|>user<|end_header_id|>\\n\\nGiven the following functions, please "
    "respond with a JSON for a function call with its proper arguments that best answers the given "
    "prompt.\\n\\n' + how }}\n"
    "{%- for tool in given %}\n"
    "{{- tool | tojson(indent=4) }}\n"
    "{{- '\\n\\n' }}\n"
    "{%- endfor %}\n"
    "{{- talk.turns[0].content | trim }}\n"
    "{{- '<|eot_id|>' }}\n"
    "{%- set talk.turns = talk.turns[1:] %}\n"
    "{%- endif %}\n"
    "{%- endif %}\n"
    "{%- for turn in talk.turns %}\n"
    "{%- if 'tool_calls' in turn %}\n"
    "{%- if turn.tool_calls | length != 1 %}\n"
    "{{- raise_exception('This model only supports single tool-calls at once!') }}\n"
    "{%- endif %}\n"
    "{%- set call = turn.tool_calls[0].function %}\n"
    "{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n{\"name\": \"' + call.name + '\", "
    "\"parameters\": ' }}\n"
    "{{- call.arguments | tojson }}\n"
    "{{- '}<|eot_id|>' }}\n"
    "{%- elif turn.role in ['tool', 'ipython'] %}\n"
    "{{- '<|start_header_id|>ipython<|end_header_id|>\\n\\n' }}\n"
    "{{- turn.content | tojson if turn.content is iterable else turn.content }}\n"
    "{{- '<|eot_id|>' }}\n"
    "{%- else %}\n"
    "{{- '<|start_header_id|>' + turn.role + '<|end_header_id|>\\n\\n' }}\n"
    "{{- turn.content | trim }}\n"
    "{{- '<|eot_id|>' }}\n"
    "{%- endif %}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}\n"
    "{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}\n"
    "{%- endif %}\n";

static const struct {
    const char *name, *text;
} families[] = {{"qwen3", qwen3_text},
                {"chatml", chatml_text},
                {"gemma3", gemma3_text},
                {"llama3", llama3_text}};

const char *kz_template_family(const char *name) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (strcmp(families[i].name, name) == 0) {
            return families[i].text;
        }
    }
    return NULL;
}

const char *kz_template_family_names(void) {
    return "qwen3, chatml, gemma3, llama3";
}
