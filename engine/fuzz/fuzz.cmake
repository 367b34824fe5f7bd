# Fuzzing of everything that reads files. In a normal build the harnesses run the seeds and the regressions
# once, as tests; with DSE_FUZZ they are instrumented: libFuzzer with clang, our own driver with gcc.
option(DSE_FUZZ "Instrument the readers for fuzzing" OFF)

set(use_libfuzzer OFF)
if(DSE_FUZZ)
  # The readers link the lowest wings alone, and instrumented code compiles slowly.
  list(FILTER DSE_ENGINE_SOURCES INCLUDE REGEX "/src/(base|inputs|simulation)/")
  set_target_properties(dse_engine PROPERTIES SOURCES "${DSE_ENGINE_SOURCES}")
  target_compile_options(dse_engine PUBLIC -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(use_libfuzzer ON)
    target_compile_options(dse_engine PRIVATE -fsanitize=fuzzer-no-link)
  else()
    target_compile_options(dse_engine PRIVATE -fsanitize-coverage=trace-pc)
  endif()
endif()
foreach(format et json yaml csv)
  if(use_libfuzzer)
    add_engine_test(${format}_fuzz fuzz/${format}_fuzz.cpp)
    target_compile_options(${format}_fuzz PRIVATE -fsanitize=fuzzer)
    target_link_options(${format}_fuzz PRIVATE -fsanitize=fuzzer)
  else()
    add_engine_test(${format}_fuzz fuzz/${format}_fuzz.cpp fuzz/driver.cpp)
    add_test(NAME regressions_${format} COMMAND ${format}_fuzz
      ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/seeds/${format} ${CMAKE_CURRENT_SOURCE_DIR}/tests/regressions/${format})
  endif()
  target_compile_options(${format}_fuzz PRIVATE ${DSE_WARNINGS})
endforeach()
