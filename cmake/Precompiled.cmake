# Headers compiled once for many sources. Builds for working on the code (preset dev and the
# sanitizers) do without them: there every source shows that it includes what it needs.

set(NG_STANDARD_HEADERS
    <algorithm>
    <array>
    <atomic>
    <chrono>
    <cmath>
    <cstdint>
    <cstring>
    <functional>
    <limits>
    <map>
    <memory>
    <optional>
    <set>
    <span>
    <string>
    <string_view>
    <utility>
    <vector>)
set(NG_GRAPH_HEADERS ${NG_STANDARD_HEADERS} <narrowgauge/graph.h> <narrowgauge/op_record.h>)

# ng_precompile(owner headers... USERS targets...): the owner compiles the headers; the users, which
# have the owner's compile options but for the level of optimization, take what it made.
function(ng_precompile owner)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" USERS)
  target_precompile_headers(${owner} PRIVATE ${arg_UNPARSED_ARGUMENTS})
  foreach(user IN LISTS arg_USERS)
    target_precompile_headers(${user} REUSE_FROM ${owner})
  endforeach()
endfunction()
