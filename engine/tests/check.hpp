// What the engine's test programs share: checks that print where they failed and are counted.
#pragma once

#include <cstdio>
#include <string>

inline int failures = 0;

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            std::printf("%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, #condition); \
            ++failures;                                                               \
        }                                                                             \
    } while (false)

#define CHECK_TEXT(got, expected) check_text(__FILE__, __LINE__, got, expected)

inline void check_text(const char* file, int line, const std::string& got, const std::string& expected) {
    if (got == expected) return;
    std::printf("%s:%d: got      %s\n%s:%d: expected %s\n", file, line, got.c_str(), file, line,
                expected.c_str());
    ++failures;
}
