-- The statements of `batch.rs`, prepared once per session.
--
-- Plans are made once and do not depend on the contents of arrays: rows are found by their keys, in the order of the
-- arrays, which is the order of locks. Hash joins, merge joins and scans of a whole table would lock in a different
-- order.

SET plan_cache_mode = force_generic_plan;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_seqscan = off;

PREPARE warehouse_tax (INT) AS SELECT w_tax FROM warehouse WHERE w_id = $1;
PREPARE take_order_number (INT, INT) AS
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2
    RETURNING d_next_o_id - 1, d_tax;
PREPARE order_customer (INT, INT, INT) AS
    SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3;
PREPARE items (INT[]) AS SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id = ANY ($1);
-- The order's warehouse and district, then for each line the supplying warehouse, the item and the quantity.
-- No row may occur twice, because an update changes each row once.
PREPARE take_stock (INT, INT, INT[], INT[], INT[]) AS
    UPDATE stock SET
        s_quantity = s_quantity - q + CASE WHEN s_quantity - q >= 10 THEN 0 ELSE 91 END,
        s_ytd = s_ytd + q, s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + (s_w_id <> $1)::INT
    FROM unnest($3, $4, $5) AS line (w, i, q)
    WHERE s_w_id = w AND s_i_id = i
    RETURNING s_w_id, s_i_id,
        CASE $2 WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
            WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
            WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END,
        s_quantity, s_data;
PREPARE insert_order (INT, INT, INT, INT, BIGINT, INT, INT) AS
    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES ($1, $2, $3, $4, $5, NULL, $6, $7);
PREPARE insert_new_order (INT, INT, INT) AS
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3);
PREPARE insert_lines (INT, INT, INT, INT[], INT[], INT[], INT[], BIGINT[], TEXT[]) AS
    INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
        ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
    SELECT $1, $2, $3, number, item, supply, NULL, quantity, amount, info
    FROM unnest($4, $5, $6, $7, $8, $9) AS line (number, item, supply, quantity, amount, info);

PREPARE customers_by_name (INT, INT, TEXT) AS
    SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first, c_id;
PREPARE pay_customer (BIGINT, INT, INT, INT) AS
    UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $1,
        c_payment_cnt = c_payment_cnt + 1
    WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4
    RETURNING c_balance, CASE c_credit WHEN 'BC' THEN c_data END, c_credit, c_first, c_middle, c_last,
        c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount;
PREPARE pay_district (BIGINT, INT, INT) AS
    UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3
    RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip;
PREPARE note_customer (TEXT, INT, INT, INT) AS
    UPDATE customer SET c_data = $1 WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4;
-- Updates the warehouse, and adds a row with its name to the history. Parameters: amount, warehouse; customer, its
-- district, its warehouse; district, date, the district's name.
PREPARE pay_warehouse (BIGINT, INT, INT, INT, INT, INT, BIGINT, TEXT) AS
    WITH paid AS (
        UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2
        RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    ), noted AS (
        INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        SELECT $3, $4, $5, $6, $2, $7, $1, w_name || '    ' || $8 FROM paid
    ) SELECT * FROM paid;

PREPARE status_customer (INT, INT, INT) AS
    SELECT c_balance, c_first, c_middle, c_last FROM customer
    WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3;
PREPARE last_order (INT, INT, INT) AS
    SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3
    ORDER BY o_id DESC LIMIT 1;
PREPARE order_lines (INT, INT, INT) AS
    SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
    WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3;

-- Closes the oldest open order of each district that has one, and returns whether the order was still open.
PREPARE close_oldest (INT) AS
    WITH oldest AS MATERIALIZED (
        SELECT district, (SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = district
            ORDER BY no_o_id LIMIT 1) AS number
        FROM generate_series(1, 10) AS districts (district)
    ), closed AS (
        DELETE FROM new_order USING oldest
        WHERE no_w_id = $1 AND no_d_id = district AND no_o_id = number
        RETURNING no_d_id
    ) SELECT district, number, EXISTS (SELECT FROM closed WHERE no_d_id = district)::INT FROM oldest
    WHERE number IS NOT NULL ORDER BY district;
PREPARE carry_orders (INT, INT, INT[], INT[]) AS
    UPDATE orders SET o_carrier_id = $1 FROM unnest($3, $4) AS open (district, number)
    WHERE o_w_id = $2 AND o_d_id = district AND o_id = number
    RETURNING o_d_id, o_c_id;
PREPARE deliver_lines (BIGINT, INT, INT[], INT[]) AS
    WITH delivered AS (
        UPDATE order_line SET ol_delivery_d = $1 FROM unnest($3, $4) AS open (district, number)
        WHERE ol_w_id = $2 AND ol_d_id = district AND ol_o_id = number
        RETURNING ol_d_id, ol_amount
    ) SELECT ol_d_id, SUM(ol_amount)::BIGINT FROM delivered GROUP BY ol_d_id;
PREPARE charge_customers (INT, INT[], INT[], BIGINT[]) AS
    UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
    FROM unnest($2, $3, $4) AS charge (district, number, amount)
    WHERE c_w_id = $1 AND c_d_id = district AND c_id = number;

PREPARE next_order_number (INT, INT) AS
    SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2;
PREPARE low_items (INT, INT, INT, INT, INT) AS
    SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_i_id = ol_i_id
    WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_w_id = $1
    AND s_quantity < $5;
