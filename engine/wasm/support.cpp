// Functions that the C++ library of the compiler lacks here: it was built without exceptions.
#include <cstdlib>
#include <new>

// Allocation that fails is an exception like any other, not the end of the engine.
void* operator new(std::size_t bytes) {
    void* const pointer = std::malloc(bytes == 0 ? 1 : bytes);
    if (pointer == nullptr) throw std::bad_alloc();
    return pointer;
}

void* operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete[](void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }
void operator delete[](void* pointer, std::size_t) noexcept { std::free(pointer); }

// The only thread never ends, so nothing of it is destroyed.
extern "C" int __cxa_thread_atexit(void (*)(void*), void*, void*) { return 0; }
