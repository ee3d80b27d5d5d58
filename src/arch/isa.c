/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * isa.c - chooses the vector code once, before main().
 */
#include "arch/isa.h"

#ifdef LATH_ISA_X86
#include <cpuid.h>
#endif

enum lath_isa lath_isa_chosen;
bool lath_have_avx2;
bool lath_have_neon;

static const char *const names[LATH_ISAS] = { "scalar", "avx2", "neon" };

#ifdef LATH_ISA_X86
/* Returns whether the processor has popcnt and the features that these bits of leaf 7 name, and the
 * system keeps these registers (of XCR0). Not __builtin_cpu_supports(): that is in libgcc, which
 * rustc does not link for musl. */
static bool has(u32 wanted, u32 registers)
{
	u32 a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_POPCNT))
		return false;
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	return (a & registers) == registers && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
	       (b & wanted) == wanted;
}
#endif

bool lath_isa_supported(enum lath_isa isa)
{
	switch (isa) {
	case LATH_ISA_SCALAR:
		return true;
#ifdef LATH_ISA_X86
	case LATH_ISA_AVX2:
		return has(bit_AVX2 | bit_BMI | bit_BMI2, 0x06);
#endif
#ifdef LATH_ISA_ARM64
	case LATH_ISA_NEON:
		return true;
#endif
	default:
		return false;
	}
}

static enum lath_isa best(void)
{
	unsigned int isa = LATH_ISAS;

	while (!lath_isa_supported(--isa))
		;
	return isa;
}

static enum lath_isa named(const char *name)
{
	unsigned int isa = 0;

	while (isa < LATH_ISAS && strcmp(name, names[isa]))
		isa++;
	return isa;
}

/* Returns what `name` asks for, or the best with a line on stderr that says why not. */
static enum lath_isa asked_for(const char *name)
{
	enum lath_isa isa = named(name);
	char text[160];

	if (isa < LATH_ISAS && lath_isa_supported(isa))
		return isa;
	snprintf(text, sizeof(text), "LATH_ISA=%.40s: %s; using %s", name,
		 isa < LATH_ISAS ? "this processor or build does not have it"
				 : "none of scalar, avx2, neon",
		 names[best()]);
	lath_warn(text);
	return best();
}

__attribute__((constructor)) static void choose(void)
{
	const char *name = lath_environment("LATH_ISA");

	lath_isa_chosen = name && *name ? asked_for(name) : best();
#ifdef LATH_ISA_X86
	lath_have_avx2 = lath_isa_chosen == LATH_ISA_AVX2;
#endif
	lath_have_neon = lath_isa_chosen == LATH_ISA_NEON;
}
