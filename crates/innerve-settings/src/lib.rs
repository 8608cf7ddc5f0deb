//! Settings files of innerve: layers, trust, saving a rule without disturbing the file, real path facts.
