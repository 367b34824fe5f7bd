# The Python modules, for pip: dse.native._engine, which a sweep needs, dse.native._solvers, which synthesises schedules of
# collectives, plans and partitions, and dse.native._explorer, the engine of pages for tests.
option(DSE_SOLVERS "Build dse.native._solvers" ON)
option(DSE_EXPLORER "Build dse.native._explorer" OFF)

# Most of a compiler's time goes into the same headers and templates again, so wings that share them are one file each:
# what a point runs, what synthesises, what plans, what partitions. Builds with sanitizers do without, so a missing
# #include is found.
foreach(source ${DSE_ENGINE_SOURCES})
  file(RELATIVE_PATH place ${CMAKE_CURRENT_SOURCE_DIR}/src ${source})
  string(REGEX MATCH "^[a-z]+" wing ${place})
  set(group points)
  # Alone, base lets the solvers link none of the points. Schedules that are there run in points.
  if(wing MATCHES "^(base|prediction|collectives|planner|partition)$" AND NOT place STREQUAL "collectives/schedules/replay.cpp")
    set(group ${wing})
  endif()
  set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  if(place MATCHES "^(inputs/files|simulation/systems)/|/(records_json|asked|deadlock_report)\\.cpp$")
    list(APPEND cold ${source})
  elseif(wing STREQUAL "answers")
    list(APPEND pages ${source})
  elseif(group MATCHES "^(collectives|planner|partition)$")
    list(APPEND solvers ${source})
  endif()
endforeach()
set_source_files_properties(  # these speak of operators with short names that others use for types
  src/simulation/workloads/attention_table.cpp src/simulation/workloads/block_tables.cpp
  src/simulation/workloads/feed_forward_table.cpp
  PROPERTIES UNITY_GROUP tables)
list(REMOVE_ITEM DSE_ENGINE_SOURCES ${cold} ${pages} ${solvers})
set_target_properties(dse_engine PROPERTIES SOURCES "${DSE_ENGINE_SOURCES}" UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
# Without <functional> and <memory>, which few sources need and which add half to a precompiled header of 40 MB.
target_precompile_headers(dse_engine PRIVATE
  <algorithm> <array> <cstdint> <map> <optional> <span> <string> <string_view> <utility> <vector>)
# The compiler's own garbage collector, a tenth of its time, does not help one file that is read once. And GCC lets a
# large file grow by less than half: too little to inline what a small file of each source would.
set(uncollected $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1000000>)
set(large_file ${uncollected} $<$<CXX_COMPILER_ID:GNU>:--param=inline-unit-growth=200>)
target_compile_options(dse_engine PRIVATE ${large_file})

# What runs once per command, readers of files and requests, and the glue to Python are compiled with -O1: a third less
# to do for the compiler. No loop over points, events or candidates is in them. Builds without optimisation stay so:
# files that are optimised cannot read headers that were precompiled without.
set(cold_level "")
if(CMAKE_BUILD_TYPE STREQUAL Release AND CMAKE_CXX_FLAGS_RELEASE MATCHES "-O[23]")
  set(cold_level -O1)
endif()
function(add_cold_library name)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE src .)
  target_compile_options(${name} PRIVATE ${DSE_EXACT} ${DSE_WARNINGS} ${cold_level})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  # Newer versions of GCC, such as 16, take no header that another level compiled, and read the header itself.
  set_target_properties(${name} PROPERTIES PCH_WARN_INVALID OFF)
  target_precompile_headers(${name} REUSE_FROM dse_engine)
endfunction()
add_cold_library(dse_engine_cold ${cold})

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
find_package(nanobind CONFIG REQUIRED)
# A module of Python from bindings and libraries.
function(add_python_module name)
  cmake_parse_arguments(PARSE_ARGV 1 module "" "" "BINDINGS;LIBRARIES")
  nanobind_add_module(${name} NB_STATIC STABLE_ABI NOMINSIZE
    ${module_BINDINGS} bindings/checkpoints.cpp bindings/errors.cpp)
  target_compile_options(${name} PRIVATE ${cold_level} ${uncollected})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  target_link_libraries(${name} PRIVATE ${module_LIBRARIES})
  install(TARGETS ${name} LIBRARY DESTINATION dse/native)
endfunction()

file(GLOB bindings CONFIGURE_DEPENDS bindings/*.cpp)
list(FILTER bindings EXCLUDE REGEX "(checkpoints|errors)\\.cpp$")
add_python_module(_engine BINDINGS ${bindings} LIBRARIES dse_engine dse_engine_cold)
if(DSE_SOLVERS)
  add_library(dse_solvers STATIC ${solvers})
  target_compile_options(dse_solvers PRIVATE ${DSE_WARNINGS} ${large_file})
  set_target_properties(dse_solvers PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_precompile_headers(dse_solvers REUSE_FROM dse_engine)
  target_link_libraries(dse_solvers PUBLIC dse_engine)
  file(GLOB bindings CONFIGURE_DEPENDS bindings/solvers/*.cpp)
  add_python_module(_solvers BINDINGS ${bindings} LIBRARIES dse_solvers dse_engine_cold)
endif()
if(DSE_EXPLORER)
  add_cold_library(dse_explorer ${pages})
  add_python_module(_explorer BINDINGS bindings/explorer/module.cpp LIBRARIES dse_explorer dse_engine dse_engine_cold)
endif()
foreach(library nanobind-static nanobind-static-abi3)
  if(TARGET ${library})
    set_target_properties(${library} PROPERTIES SOURCES ${NB_DIR}/src/nb_combined.cpp)
    target_compile_options(${library} PRIVATE ${cold_level})
  endif()
endforeach()
