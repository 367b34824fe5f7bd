# The stand-alone simulators: one source, two network models, into build/bin at the root of the repository;
# builds with sanitizers keep theirs to themselves. The build of the Python modules makes them where they are asked for,
# from the objects that it has.
set(default_folder "${CMAKE_CURRENT_SOURCE_DIR}/../build/bin")
if(DSE_SANITIZE)
  set(default_folder "${CMAKE_BINARY_DIR}/bin")
endif()
set(DSE_BINARY_FOLDER "${default_folder}" CACHE PATH "Where the simulators go")
foreach(model unaware aware)
  set(target astrasim-${model})
  add_executable(${target} apps/astrasim.cpp apps/command_line.cpp apps/report.cpp)
  target_link_libraries(${target} PRIVATE dse_engine $<TARGET_NAME_IF_EXISTS:dse_engine_cold>)
  target_compile_options(${target} PRIVATE ${DSE_WARNINGS})
  target_compile_definitions(${target} PRIVATE DSE_CONGESTION_AWARE=$<STREQUAL:${model},aware>)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${DSE_BINARY_FOLDER}")
  if(DEFINED SKBUILD)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endforeach()
