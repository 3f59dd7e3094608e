// requirements.hpp - what each public header reaches.
#pragma once
