# Turns docs/options/*.md into option_rows.c: cmake -DPAGES=FOLDER -DOUTPUT=FILE -P option_rows.cmake
#
# In: pages as docs/options/README.md describes them. Out: a C table, one row for each option of each
# command. CMake does it, so that building needs nothing else.
cmake_minimum_required(VERSION 3.25)

# The value of "KEY: value" between the two rules of a page, ready for a C string.
function(field page key out_value out_found)
  string(REPLACE "." "\\." pattern "${key}")
  if(page MATCHES "\n${pattern}:[ ]*([^\n]*)\n")
    string(REPLACE "\\" "\\\\" value "${CMAKE_MATCH_1}")
    string(REPLACE "\"" "\\\"" value "${value}")
    set(${out_value} "${value}" PARENT_SCOPE)
    set(${out_found} TRUE PARENT_SCOPE)
  else()
    set(${out_value} "" PARENT_SCOPE)
    set(${out_found} FALSE PARENT_SCOPE)
  endif()
endfunction()

# The same, but KEY.COMMAND goes before KEY.
function(field_for page command key out_value)
  field("${page}" "${key}.${command}" value found)
  if(NOT found)
    field("${page}" "${key}" value found)
  endif()
  set(${out_value} "${value}" PARENT_SCOPE)
endfunction()

file(GLOB paths "${PAGES}/*.md")
list(FILTER paths EXCLUDE REGEX "README\\.md$")
list(SORT paths)
if(NOT paths)
  message(FATAL_ERROR "no option pages in '${PAGES}'")
endif()

set(rows "")
foreach(path IN LISTS paths)
  file(READ "${path}" page)
  if(NOT page MATCHES "^---\n.*\n---\n")
    message(FATAL_ERROR "${path}: begins with lines between two '---'; none found")
  endif()
  string(REGEX REPLACE "\n---\n.*" "\n" head "${page}")
  get_filename_component(stem "${path}" NAME_WE)
  field("${head}" Option option found)
  if(NOT option STREQUAL "--${stem}")
    message(FATAL_ERROR "${path}: its option is '${option}'; '--${stem}' expected from its name")
  endif()
  field("${head}" Short short found)
  field("${head}" Commands commands found)
  field("${head}" Help help found)
  if(commands STREQUAL "" OR help STREQUAL "")
    message(FATAL_ERROR "${path}: the lines 'Commands:' and 'Help:' must say something")
  endif()
  string(REPLACE " " ";" commands "${commands}")
  foreach(command IN LISTS commands)
    field_for("${head}" "${command}" Argument argument)
    field_for("${head}" "${command}" Default default)
    field_for("${head}" "${command}" Help help)
    string(APPEND rows "    {\"${command}\", \"${option}\", \"${short}\", \"${argument}\",\n"
                       "     \"${default}\", \"${help}\"},\n")
  endforeach()
endforeach()

file(WRITE "${OUTPUT}"
"// option_rows.c: made from docs/options by option_rows.cmake; edit the pages there.
#include \"option_rows.h\"

const cli_option_row cli_option_rows[] = {
${rows}};
const size_t cli_option_row_count = sizeof cli_option_rows / sizeof cli_option_rows[0];
")
