# The tag of C++ exceptions, which the runtime of the compiler does not define.
.tagtype __cpp_exception i32
.globl __cpp_exception
__cpp_exception:
