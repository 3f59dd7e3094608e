#pragma once   // BAD: no entry
