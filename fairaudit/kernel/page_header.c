/* Parses the headers of Parquet pages, in Thrift's compact protocol. */
#include "thrift.h"

/* A number of groups of seven bits, the lowest first; more than ten groups are none. */
bool read_varint(Bytes *bytes, uint64_t *number) {
    uint64_t sum = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (bytes->at == bytes->end) return false;
        uint8_t byte = *bytes->at++;
        sum |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *number = sum;
            return shift < 63 || byte < 2;
        }
    }
    return false;
}

/* A number with a sign, which stands in its lowest bit. */
bool read_integer(Bytes *bytes, int64_t *number) {
    uint64_t zigzag;
    if (!read_varint(bytes, &zigzag)) return false;
    uint64_t bits = (zigzag >> 1) ^ (0 - (zigzag & 1));
    *number = bits <= INT64_MAX ? (int64_t)bits : -(int64_t)(UINT64_MAX - bits) - 1;
    return true;
}

bool skip_bytes(Bytes *bytes, uint64_t count) {
    if (count > (uint64_t)(bytes->end - bytes->at)) return false;
    bytes->at += count;
    return true;
}

/* The number and the type of the next field, whose number follows the last one; 0 ends a struct. */
bool read_field(Bytes *bytes, int64_t *field, int *type) {
    if (bytes->at == bytes->end) return false;
    uint8_t byte = *bytes->at++;
    *type = byte & 15;
    if (byte == STOP) return true;
    if (*type == STOP || *type > STRUCT) return false;
    if (byte >> 4) {
        *field += byte >> 4;
        return true;
    }
    return read_integer(bytes, field) && *field >= 0 && *field <= INT16_MAX;
}

static bool skip_value(Bytes *bytes, int type, int depth);

/* The elements of a list, each at least a byte long, so that no count can lead beyond the bytes. */
static bool skip_list(Bytes *bytes, int depth) {
    if (bytes->at == bytes->end) return false;
    uint8_t byte = *bytes->at++;
    uint64_t count = byte >> 4;
    int type = byte & 15;
    if (count == 15 && !read_varint(bytes, &count)) return false;
    if (type == TRUE || type == FALSE) return skip_bytes(bytes, count);
    for (; count; count--)
        if (!skip_value(bytes, type, depth)) return false;
    return true;
}

/* A key or a value of a map: a truth has a byte of its own there. */
static bool skip_element(Bytes *bytes, int type, int depth) {
    return type == TRUE || type == FALSE ? skip_bytes(bytes, 1) : skip_value(bytes, type, depth);
}

static bool skip_map(Bytes *bytes, int depth) {
    uint64_t count;
    if (!read_varint(bytes, &count)) return false;
    if (!count) return true;
    if (bytes->at == bytes->end) return false;
    int key = *bytes->at >> 4, value = *bytes->at & 15;
    bytes->at++;
    for (; count; count--)
        if (!skip_element(bytes, key, depth) || !skip_element(bytes, value, depth)) return false;
    return true;
}

static bool skip_struct(Bytes *bytes, int depth) {
    int64_t field = 0;
    for (int type;;) {
        if (!read_field(bytes, &field, &type)) return false;
        if (type == STOP) return true;
        if (!skip_value(bytes, type, depth)) return false;
    }
}

/* A value of any type, to a depth that no header needs. */
static bool skip_value(Bytes *bytes, int type, int depth) {
    uint64_t number;
    if (depth > DEEPEST) return false;
    switch (type) {
        case TRUE:
        case FALSE: return true;
        case BYTE: return skip_bytes(bytes, 1);
        case I16:
        case I32:
        case I64: return read_varint(bytes, &number);
        case FLOAT64: return skip_bytes(bytes, 8);
        case BINARY: return read_varint(bytes, &number) && skip_bytes(bytes, number);
        case LIST:
        case SET: return skip_list(bytes, depth + 1);
        case MAP: return skip_map(bytes, depth + 1);
        case STRUCT: return skip_struct(bytes, depth + 1);
        default: return false;
    }
}

/* An integer that is a size, a count or a name of something: none is below 0 or beyond 32 bits. */
static bool read_size(Bytes *bytes, int type, int64_t *number) {
    return type == I32 && read_integer(bytes, number) && *number >= 0 && *number <= INT32_MAX;
}

/* Where a field of the struct about a kind of page is kept; NULL where it is not. */
static int64_t *place_in_page(PageHeader *header, int64_t kind, int64_t field) {
    bool is_second = kind == DATA_PAGE_V2;
    switch (field) {
        case 1: return &header->values;
        case 2: return is_second ? &header->nulls : &header->encoding;
        case 3: return is_second ? &header->rows : kind ? NULL : &header->levels_encoding;
        case 4: return is_second ? &header->encoding : NULL;
        case 5: return is_second ? &header->levels_size : NULL;
        case 6: return is_second ? &header->repeats_size : NULL;
        default: return NULL;
    }
}

/* What the header says of values. Only the struct of the page's own kind is kept. */
static bool read_page(Bytes *bytes, PageHeader *header, int64_t kind) {
    int64_t field = 0;
    for (int type;;) {
        if (!read_field(bytes, &field, &type)) return false;
        if (type == STOP) return true;
        int64_t *place = place_in_page(header, kind, field);
        if (kind == DATA_PAGE_V2 && field == 7 && type <= FALSE)
            header->is_packed = type == TRUE;
        else if (!(place ? read_size(bytes, type, place) : skip_value(bytes, type, 0)))
            return false;
    }
}

/* The header that begins there; `bytes` then stand at what follows. What the fields say of each
   other is for the caller to check, who knows what the footer says. */
Status read_page_header(Bytes *bytes, PageHeader *header) {
    *header = (PageHeader){-1, -1, -1, NO_CHECKSUM, -1, -1, -1, -1, -1, -1, -1, true};
    int64_t field = 0;
    bool has_page = false;
    for (int type;;) {
        if (!read_field(bytes, &field, &type)) return DAMAGED;
        if (type == STOP) break;
        bool is_read;
        int64_t kind = field == 5 ? DATA_PAGE : field == 7 ? DICTIONARY_PAGE : DATA_PAGE_V2;
        switch (field) {
            case 1: is_read = header->kind < 0 && read_size(bytes, type, &header->kind); break;
            case 2: is_read = read_size(bytes, type, &header->unpacked); break;
            case 3: is_read = read_size(bytes, type, &header->size); break;
            case 4: is_read = type == I32 && read_integer(bytes, &header->checksum); break;
            case 5:
            case 7:
            case 8:
                // The kind stands before what is said of it, which is said once.
                is_read = type == STRUCT && header->kind == kind && !has_page;
                is_read = is_read && read_page(bytes, header, kind);
                has_page = true;
                break;
            default: is_read = skip_value(bytes, type, 0);
        }
        if (!is_read) return DAMAGED;
    }
    bool is_known = header->kind >= 0 && header->kind <= DATA_PAGE_V2;
    return is_known && header->unpacked >= 0 && header->size >= 0 ? SOUND : DAMAGED;
}
