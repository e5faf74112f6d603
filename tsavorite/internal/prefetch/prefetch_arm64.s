#include "textflag.h"

// func Touch(base unsafe.Pointer, places *Places, count, reach int)
TEXT ·Touch(SB), NOSPLIT, $0-32
	MOVD base+0(FP), R4
	MOVD places+8(FP), R0
	MOVD count+16(FP), R1
	MOVD reach+24(FP), R2
	CMP  $0, R1
	BLE  done

next:
	MOVD (R0), R3
	ADD  R4, R3
	PRFM (R3), PLDL1KEEP
	ADD  R3, R2, R5
	B    more

line:
	PRFM (R3), PLDL1KEEP

more:
	ADD  $64, R3
	CMP  R5, R3
	BLO  line
	PRFM (R5), PLDL1KEEP
	ADD  $8, R0
	SUBS $1, R1
	BNE  next

done:
	RET
