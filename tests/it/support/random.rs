//! A sequence of numbers that a seed determines.

/// The generator *xorshift64\** (S. Vigna, *An experimental exploration of Marsaglia's xorshift generators*, 2016).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    }

    /// Returns whether an event of the probability one to `of` happens.
    pub(crate) fn once_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    pub(crate) fn fork(&mut self) -> Self {
        Self::new(self.below(u64::from(u32::MAX)))
    }
}
