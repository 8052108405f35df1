// Precompiled headers need one translation unit to hang on.
