/// A dictionary for keys that the program counts itself.
///
/// One multiplication spreads such keys; the standard hash withstands keys that an attacker chose, and looking a task up
/// would cost four times as much. The key `UInt64.max` is not allowed.
// Inlinable, so that each module specialises it for its values.
@frozen @usableFromInline
package struct IntegerMap<Value> {
    // Open addressing with linear probing; a place holds its key plus one, and 0 while it is free.
    @usableFromInline var keys: [UInt64] = []
    @usableFromInline var places: [Value?] = []
    @usableFromInline var shift: UInt64 = 64

    /// How many values there are.
    @usableFromInline package internal(set) var count = 0

    @inlinable
    package init() {}

    @inlinable package var isEmpty: Bool { self.count == 0 }

    /// The values, in no order.
    @inlinable package var values: [Value] { self.places.compactMap(\.self) }

    @inlinable
    package subscript(key: UInt64) -> Value? {
        get {
            guard self.count > 0 else { return nil }
            let place = self.place(of: key)
            return self.keys[place] == 0 ? nil : self.places[place]
        }
        set {
            guard let newValue else {
                self.removeValue(forKey: key)
                return
            }
            // At most three quarters full, so that a search ends soon.
            if self.count * 4 >= self.keys.count * 3 { self.grow() }
            let place = self.place(of: key)
            if self.keys[place] == 0 { self.count += 1 }
            self.keys[place] = key &+ 1
            self.places[place] = newValue
        }
    }

    @inlinable @discardableResult
    package mutating func removeValue(forKey key: UInt64) -> Value? {
        guard self.count > 0 else { return nil }
        var hole = self.place(of: key)
        guard self.keys[hole] != 0 else { return nil }
        let value = self.places[hole].take()
        self.keys[hole] = 0
        self.count -= 1
        // What was put behind the place because it was taken moves up, so that searches may end at a free place.
        let mask = self.keys.count - 1
        var next = (hole + 1) & mask
        while self.keys[next] != 0 {
            if (next &- self.home(of: self.keys[next])) & mask >= (next &- hole) & mask {
                self.keys.swapAt(hole, next)
                self.places.swapAt(hole, next)
                hole = next
            }
            next = (next + 1) & mask
        }
        return value
    }

    /// The place of a key, or the free one where it belongs.
    @inlinable
    func place(of key: UInt64) -> Int {
        let wanted = key &+ 1
        let mask = self.keys.count - 1
        var place = self.home(of: wanted)
        while self.keys[place] != wanted, self.keys[place] != 0 { place = (place + 1) & mask }
        return place
    }

    // The highest bits of the product depend on all bits of the key (Knuth, "multiplicative hashing").
    @inlinable
    func home(of stored: UInt64) -> Int { Int(truncatingIfNeeded: (stored &* 0x9E37_79B9_7F4A_7C15) >> self.shift) }

    @inlinable
    mutating func grow() {
        let old = (keys: self.keys, places: self.places)
        let capacity = max(8, old.keys.count * 2)
        self.keys = Array(repeating: 0, count: capacity)
        self.places = Array(repeating: nil, count: capacity)
        self.shift = UInt64(64 - capacity.trailingZeroBitCount)
        for (key, value) in zip(old.keys, old.places) where key != 0 {
            let place = self.place(of: key &- 1)
            self.keys[place] = key
            self.places[place] = value
        }
    }
}

extension IntegerMap: Sendable where Value: Sendable {}
