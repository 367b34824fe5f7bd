"""Laws of kernels and collectives: shapes in, seconds out, with few constants measured on kernels."""
