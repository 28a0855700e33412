/* Where the pages of a column stand in its bytes, and whether their headers fit each other. */
#include <stdlib.h>
#include <string.h>

#include "parquet.h"

enum { FIRST_PLACES = 64, RUN_LENGTHS = 3 };

/* The header that `bytes` stand at, whose page they hold; they then stand behind it, and `start` is
   where the page begins. */
static Status take_page(Bytes *bytes, PageHeader *header, const uint8_t **start) {
    if (read_page_header(bytes, header) != SOUND) return DAMAGED;
    if (header->size > bytes->end - bytes->at) return DAMAGED;
    *start = bytes->at;
    bytes->at += header->size;
    return SOUND;
}

static bool is_second(const PageHeader *header) {
    return header->kind == DATA_PAGE_V2;
}

/* Whether the counts and sizes of a page of values, of which its column has `values`, fit. */
static bool is_sound_page(const PageHeader *header, int64_t values, bool repeats) {
    if (header->values < 0 || header->values > values) return false;
    if (!is_second(header)) return true;
    // A page of the second version says how long its levels are, and how many rows it has.
    if (header->levels_size < 0 || header->repeats_size < 0) return false;
    if (header->levels_size + header->repeats_size > header->size) return false;
    if (header->nulls < 0 || header->nulls > header->values) return false;
    if (header->rows < 0 || header->rows > header->values) return false;
    return repeats || header->rows == header->values;
}

Status check_page(Bytes *bytes, int64_t values, int64_t width, bool repeats, CheckedPage *page) {
    PageHeader header;
    const uint8_t *start;
    if (take_page(bytes, &header, &start) != SOUND) return DAMAGED;
    bool has_values = header.kind == DATA_PAGE || is_second(&header);
    if (has_values && !is_sound_page(&header, values, repeats)) return DAMAGED;
    bool is_dictionary = header.kind == DICTIONARY_PAGE;
    if (is_dictionary && (header.values < 0 || header.values * width > header.unpacked))
        return DAMAGED;
    *page = (CheckedPage){start, header.size, has_values ? header.values : 0, header.checksum};
    return SOUND;
}

/* How many bytes of levels stand before the values as they are: in the second version alone. */
static Status read_levels_size(const PageHeader *header, bool is_optional, int64_t *size) {
    *size = 0;
    if (header->kind != DATA_PAGE && !is_second(header)) return NOT_SERVED;
    if (header->values < 0) return DAMAGED;
    if (!is_second(header))
        return is_optional && header->levels_encoding != RUN_LENGTHS ? NOT_SERVED : SOUND;
    if (header->repeats_size || header->rows != header->values) return NOT_SERVED;
    *size = header->levels_size;
    return *size < 0 || *size > header->size || *size > header->unpacked ? DAMAGED : SOUND;
}

/* The next place of a table, which doubles where it is full; NULL where there is no memory. */
static PagePlace *next_place(PageTable *table) {
    if (table->count == table->room) {
        size_t room = table->room ? table->room * 2 : FIRST_PLACES;
        PagePlace *places = realloc(table->places, room * sizeof *places);
        if (!places) return NULL;
        table->places = places;
        table->room = room;
    }
    return &table->places[table->count++];
}

/* Adds a page of values to a table. */
static Status add_page(
    PageTable *table, const PageHeader *header, int64_t start, const PageTerms *terms) {
    int64_t levels_size;
    Status status = read_levels_size(header, terms->is_optional, &levels_size);
    if (status != SOUND) return status;
    PagePlace *place = next_place(table);
    if (!place) return NO_MEMORY;
    bool is_packed = terms->is_packed && header->is_packed;
    int64_t size = header->size - levels_size, unpacked = header->unpacked - levels_size;
    *place = (PagePlace){
        .is_second = is_second(header), .encoding = header->encoding, .values = header->values,
        .levels = start, .levels_size = levels_size, .is_packed = is_packed,
        .body = is_packed ? table->unpacked : start + levels_size,
        .body_size = is_packed ? unpacked : size, .packed = start + levels_size,
        .packed_size = is_packed && unpacked ? size : 0};
    if (!terms->is_packed && size != unpacked) return DAMAGED;
    table->unpacked += is_packed ? unpacked : 0;
    table->packed += place->packed_size;
    return SOUND;
}

Status find_pages(Bytes chunk, const PageTerms *terms, PageTable *table) {
    Bytes bytes = chunk;
    *table = (PageTable){0};
    for (bool is_first = true; bytes.at < bytes.end; is_first = false) {
        PageHeader header;
        const uint8_t *start;
        if (take_page(&bytes, &header, &start) != SOUND) return DAMAGED;
        if (is_first && header.kind == DICTIONARY_PAGE) continue;
        Status status = add_page(table, &header, start - chunk.at, terms);
        if (status != SOUND) return status;
    }
    return SOUND;
}

void copy_packed(Bytes chunk, const PageTable *table, uint8_t *packed) {
    for (size_t number = 0; number < table->count; number++) {
        const PagePlace *place = &table->places[number];
        memcpy(packed, chunk.at + place->packed, (size_t)place->packed_size);
        packed += place->packed_size;
    }
}

/* Bytes from a place on, where they are there. */
static bool cut(Bytes all, int64_t start, int64_t size, Bytes *part) {
    int64_t room = all.end - all.at;
    if (start < 0 || size < 0 || start > room || size > room - start) return false;
    *part = (Bytes){all.at + start, all.at + start + size};
    return true;
}

bool open_place(const PagePlace *place, Bytes chunk, Bytes unpacked, Page *page) {
    *page = (Page){.is_second = place->is_second, .encoding = place->encoding};
    page->values = (uint64_t)place->values;
    return place->values >= 0 && cut(chunk, place->levels, place->levels_size, &page->levels) &&
           cut(place->is_packed ? unpacked : chunk, place->body, place->body_size, &page->body);
}
