/* An empty program without libc: gcc -static -nostdlib. */
void _start(void);

void _start(void)
{
#if defined __x86_64__
    __asm__ volatile("syscall" : : "a"(60), "D"(0) : "rcx", "r11", "memory");
#elif defined __aarch64__
    register long number __asm__("x8") = 93, code __asm__("x0") = 0;
    __asm__ volatile("svc 0" : : "r"(number), "r"(code) : "memory");
#elif defined __riscv
    register long number __asm__("a7") = 93, code __asm__("a0") = 0;
    __asm__ volatile("ecall" : : "r"(number), "r"(code) : "memory");
#else
#error "no system call for this machine"
#endif
    for (;;) {
    }
}
