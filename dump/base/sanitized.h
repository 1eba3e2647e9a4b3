/* SPDX-License-Identifier: MIT */
/*
 * SANITIZED: 1 in a build with AddressSanitizer, which reserves terabytes of address space, is slow
 * and has its own allocator; else 0.
 */
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
