/* What every driver's library has and no simulated GPU does: callers hear that it is not supported, or none. */
#include "gpu.h"

/* Whatever else a caller passes is not looked at. */
#define ABSENT(function) \
	nvmlReturn_t function(nvmlDevice_t gpu); \
	nvmlReturn_t function(nvmlDevice_t gpu) \
	{ \
		nvmlReturn_t answer = gpu_answers(gpu); \
		return answer ? answer : NVML_ERROR_NOT_SUPPORTED; \
	}

#define NONE(function) \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned *number); \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned *number) \
	{ \
		nvmlReturn_t answer = gpu_answers(gpu); \
		if (!answer) \
			*number = 0; \
		return answer; \
	}

/* Percent, and the microseconds that it was looked at for. */
#define IDLE(function) \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned *percent, unsigned *period_us); \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned *percent, unsigned *period_us) \
	{ \
		nvmlReturn_t answer = gpu_answers(gpu); \
		if (!answer) { \
			*percent = 0; \
			*period_us = 1000000; \
		} \
		return answer; \
	}

ABSENT(nvmlDeviceGetAccountingMode)
ABSENT(nvmlDeviceGetAttributes_v2)
ABSENT(nvmlDeviceGetAutoBoostedClocksEnabled)
ABSENT(nvmlDeviceGetBoardId)
ABSENT(nvmlDeviceGetBrand)
ABSENT(nvmlDeviceGetBridgeChipInfo)
ABSENT(nvmlDeviceGetCpuAffinity)
ABSENT(nvmlDeviceGetDriverModel)
ABSENT(nvmlDeviceGetEncoderStats)
ABSENT(nvmlDeviceGetFanSpeed)
ABSENT(nvmlDeviceGetFanSpeed_v2)
ABSENT(nvmlDeviceGetGpuFabricInfo)
ABSENT(nvmlDeviceGetGpuFabricInfoV)
ABSENT(nvmlDeviceGetGpuInstanceId)
ABSENT(nvmlDeviceGetGpuOperationMode)
ABSENT(nvmlDeviceGetMarginTemperature)
ABSENT(nvmlDeviceGetMemoryBusWidth)
ABSENT(nvmlDeviceGetMigDeviceHandleByIndex)
ABSENT(nvmlDeviceGetModuleId)
ABSENT(nvmlDeviceGetNumGpuCores)
ABSENT(nvmlDeviceGetP2PStatus)
ABSENT(nvmlDeviceGetProcessUtilization)
ABSENT(nvmlDeviceGetSamples)
ABSENT(nvmlDeviceGetSupportedGraphicsClocks)
ABSENT(nvmlDeviceGetSupportedMemoryClocks)
ABSENT(nvmlDeviceGetViolationStatus)
NONE(nvmlDeviceGetDisplayActive)
NONE(nvmlDeviceGetDisplayMode)
NONE(nvmlDeviceGetMaxMigDeviceCount)
NONE(nvmlDeviceGetMultiGpuBoard)
NONE(nvmlDeviceGetNumFans)
NONE(nvmlDeviceGetVirtualizationMode)
NONE(nvmlDeviceIsMigDeviceHandle)
IDLE(nvmlDeviceGetDecoderUtilization)
IDLE(nvmlDeviceGetEncoderUtilization)
IDLE(nvmlDeviceGetJpgUtilization)
IDLE(nvmlDeviceGetOfaUtilization)
