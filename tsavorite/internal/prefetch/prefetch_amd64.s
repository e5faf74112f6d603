#include "textflag.h"

// func Touch(base unsafe.Pointer, places *Places, count, reach int)
TEXT ·Touch(SB), NOSPLIT, $0-32
	MOVQ  base+0(FP), BX
	MOVQ  places+8(FP), SI
	MOVQ  count+16(FP), CX
	MOVQ  reach+24(FP), DX
	TESTQ CX, CX
	JLE   done

next:
	MOVQ       (SI), AX
	ADDQ       BX, AX
	PREFETCHT0 (AX)
	LEAQ       (AX)(DX*1), DI
	JMP        more

line:
	PREFETCHT0 (AX)

more:
	ADDQ       $64, AX
	CMPQ       AX, DI
	JCS        line
	PREFETCHT0 (DI)
	ADDQ       $8, SI
	DECQ       CX
	JNZ        next

done:
	RET
