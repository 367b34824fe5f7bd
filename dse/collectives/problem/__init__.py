"""Problems of synthesis: a collective, the links of a network, and the settings of both."""
