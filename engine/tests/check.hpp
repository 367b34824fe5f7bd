// The frame of the engine's test programs: checks that print where they failed and are counted.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>

#include "base/error.hpp"

inline int failures = 0;

/// May be called by several threads.
inline void fail(const char* file, int line, const std::string& text) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::printf("%s:%d: %s\n", file, line, text.c_str());
    ++failures;
}

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) fail(__FILE__, __LINE__, "CHECK(" #condition ") failed"); \
    } while (false)

#define CHECK_TEXT(got, expected) check_text(__FILE__, __LINE__, got, expected)

inline void check_text(const char* file, int line, const std::string& got, const std::string& expected) {
    if (got != expected) fail(file, line, "got '" + got + "', expected '" + expected + "'");
}

/// Returns the message of what the action throws.
template <class Action>
std::string error_of(const Action& action) {
    try {
        action();
    } catch (const dse::InputError& error) {
        return error.what();
    }
    return "no error";
}
